// Finds allowances that the calls give and do not use up: their spender can take what comes to the
// address later, before it goes to recovery.

import { encodeExecution, type Hex, toHex } from "executable-address";
import type { Finding } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { hexToBigInt, size } from "viem/utils";
import type { StateOverrides } from "../rpc/call-at.ts";
import { viewCall } from "../rpc/view-call.ts";
import { callGas } from "../simulation/meter.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";
import { askAll } from "./questions.ts";

/** `at`: the call that gives it, the last of those to the same spender. */
type Given = { at: number; token: Hex; spender: Hex };

const giving = /^(approve|increaseAllowance)\(address \w+, uint256 \w+\)$/;

function givenIn({ intent }: StatusSubject): Given[] {
  const found = new Map<string, Given>();
  intent.calls.forEach(({ target, function: text, args }, at) => {
    if (!giving.test(text)) return;
    const spender = args[0] as Hex;
    found.set(`${target}${spender}`, { at, token: target, spender });
  });
  return [...found.values()];
}

/** None where the node has no eth_simulateV1: an allowance is asked for after the calls ran. */
export async function findAllowances(
  { rpc, factory }: SimulatedChain,
  block: BlockReference,
  subject: StatusSubject,
  assumed: StateOverrides,
): Promise<Finding[]> {
  const given = givenIn(subject);
  if (given.length === 0) return [];
  const execution = {
    ...{ to: factory, gas: callGas },
    data: toHex(encodeExecution(subject.intent)),
  };
  const questions = given.map(({ token, spender }) =>
    viewCall(token, "allowance(address owner, address spender)", [subject.address, spender]),
  );
  const { replies, isSequence } = await askAll(rpc, block, [execution, ...questions], assumed);
  const [executed, ...allowances] = replies;
  if (!isSequence || !executed?.succeeded) return [];
  return given.flatMap(({ at, spender }, index): Finding[] => {
    const reply = allowances[index];
    const left = reply?.succeeded && size(reply.data) === 32 ? hexToBigInt(reply.data) : 0n;
    if (left === 0n) return [];
    const message = `${spender} may still take ${left} base units of what comes later`;
    const cure = "approve exactly what the next call takes, or approve 0 in the end";
    return [{ path: ["calls", at, "args", 1], code: "allowance_left", message, cure }];
  });
}
