# python3 verify.py receipt.json: the outcome that a receipt proves, and what was held and left. It
# reads no `intent`, transaction or payments. Compare the blocks it prints with your own node's.
import json, sys
from ethereum import find, index_key, keccak, number, rlp, unhex

FACTORY = bytes.fromhex("00000000b4ae95d828d2274dce26cfa9199810de")
PREFIX = bytes.fromhex("5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf302d616e0")
EXECUTED = bytes.fromhex("76787dbd4cf201a1655ade6889aeb3b4f0ec211e67f5a3b4f05ad4ff124e3cd1")
CLOSED = bytes.fromhex("1294ad7c9f5dfedf7179ece44f5d55163889fd523614a369f2aa2b25c109c74b")
TOPIC = bytes.fromhex("e953ae62f4f69be1c6d943cb68d93d288f23ffae7332b84196d46e9e778b23b2")

def open_block(part, header):
    assert keccak(unhex(header)) == unhex(part["block"]["hash"]), "the header is another block's"
    fields = rlp(unhex(header))[0]
    print(f"if block {number(fields[8])} of the chain is {part['block']['hash']}")
    return fields

receipt = json.load(open(sys.argv[1]))
assert receipt["format"] == "executable-address-receipt/1", "another format"
record, proof, part = receipt["record"], receipt["proof"], receipt["proof"]["execution"]
terms = unhex(record["terms"])
token, amount, expiry, chain = (terms[32 * at : 32 * at + 32] for at in (1, 2, 4, 7))
vault = keccak(b"\xff" + FACTORY + bytes(32) + keccak(PREFIX + terms))[12:]
assert vault == unhex(record["address"]), "the terms are another address's"
fields = open_block(proof, proof["proof"]["header"])
account = find(fields[3], keccak(vault), map(unhex, proof["proof"]["account"]))
code = rlp(account)[0][3] if account else keccak(b"")
late = number(fields[11]) > number(expiry)
fates = {EXECUTED: "executed", keccak(b""): ("open", "never")[late], CLOSED: ("?", "closed")[late]}
outcome = fates.get(code, "?")
assert (outcome, number(chain)) == (proof["outcome"], proof["chainId"]), f"it is {outcome}"
if outcome == "executed":
    assert part, "there is no execution"
    key, nodes = index_key(part["proof"]["transactionIndex"]), part["proof"]["receipt"]
    value = find(open_block(part, part["proof"]["headers"][0])[5], key, map(unhex, nodes))
    logs = rlp(value[1:] if value[0] < 128 else value)[0][3]
    event = (FACTORY, [TOPIC, bytes(12) + vault, token])
    amounts = [[str(number(d[:32])), str(number(d[32:]))] for a, t, d in logs if (a, t) == event]
    assert amounts == [[part["held"], part["left"]]], f"other amounts: it shows {amounts}"
print(f"then 0x{vault.hex()} of chain {number(chain)}, which asked for {number(amount)}, is {outcome}")
