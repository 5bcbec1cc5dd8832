export const demoShop = {
  "abi": [
    {
      "type": "constructor",
      "inputs": [
        {
          "name": "token_",
          "type": "address",
          "internalType": "address"
        }
      ],
      "stateMutability": "nonpayable"
    },
    {
      "type": "function",
      "name": "pay",
      "inputs": [
        {
          "name": "orderId",
          "type": "uint256",
          "internalType": "uint256"
        },
        {
          "name": "amount",
          "type": "uint256",
          "internalType": "uint256"
        }
      ],
      "outputs": [],
      "stateMutability": "nonpayable"
    },
    {
      "type": "function",
      "name": "token",
      "inputs": [],
      "outputs": [
        {
          "name": "",
          "type": "address",
          "internalType": "address"
        }
      ],
      "stateMutability": "view"
    },
    {
      "type": "event",
      "name": "Paid",
      "inputs": [
        {
          "name": "orderId",
          "type": "uint256",
          "indexed": true,
          "internalType": "uint256"
        },
        {
          "name": "payer",
          "type": "address",
          "indexed": true,
          "internalType": "address"
        },
        {
          "name": "amount",
          "type": "uint256",
          "indexed": false,
          "internalType": "uint256"
        }
      ],
      "anonymous": false
    },
    {
      "type": "error",
      "name": "PaymentFailed",
      "inputs": [
        {
          "name": "payer",
          "type": "address",
          "internalType": "address"
        },
        {
          "name": "amount",
          "type": "uint256",
          "internalType": "uint256"
        }
      ]
    }
  ],
  "bytecode": "0x60a034606c57601f6102ed38819003918201601f19168301916001600160401b03831184841017607057808492602094604052833981010312606c57516001600160a01b0381168103606c5760805260405161026890816100858239608051818181607c015261015a0152f35b5f80fd5b634e487b7160e01b5f52604160045260245ffdfe6080806040526004361015610012575f80fd5b5f3560e01c908163ef48eee6146100a4575063fc0c546a14610032575f80fd5b346100a0575f7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc3601126100a057602060405173ffffffffffffffffffffffffffffffffffffffff7f0000000000000000000000000000000000000000000000000000000000000000168152f35b5f80fd5b346100a05760407ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc3601126100a0576024359081815233907f4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f602060043592a36040517f23b872dd0000000000000000000000000000000000000000000000000000000081523360048201523060248201528160448201526020816064815f73ffffffffffffffffffffffffffffffffffffffff7f0000000000000000000000000000000000000000000000000000000000000000165af190811561025d575f916101c1575b501561019257005b7fa09e6165000000000000000000000000000000000000000000000000000000005f523360045260245260445ffd5b905060203d602011610256575b7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f820116820182811067ffffffffffffffff821117610229576020918391604052810103126100a0575180151581036100a0578261018a565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52604160045260245ffd5b503d6101ce565b6040513d5f823e3d90fd"
} as const;
