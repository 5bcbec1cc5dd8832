export const tip = {
  "address": "0x5d4b79a395dD392717cBAcFDD82638b8388EE9e4",
  "abi": [
    {
      "type": "function",
      "name": "tip",
      "inputs": [
        {
          "name": "token",
          "type": "address",
          "internalType": "address"
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
      "type": "error",
      "name": "TipFailed",
      "inputs": [
        {
          "name": "token",
          "type": "address",
          "internalType": "address"
        },
        {
          "name": "executor",
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
  "bytecode": "0x60808060405234601557610213908161001a8239f35b5f80fdfe6080806040526004361015610012575f80fd5b5f3560e01c638b6fc45214610025575f80fd5b3461019a5760407ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc36011261019a5760043573ffffffffffffffffffffffffffffffffffffffff81169081810361019a575f806024359460208101907f23b872dd000000000000000000000000000000000000000000000000000000008252336024820152326044820152866064820152606481526100c56084826101d2565b519082855af1903d156101cb573d67ffffffffffffffff811161019e576040519061011860207fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f84011601836101d2565b81523d5f602083013e5b82610163575b50501561013157005b7ffafcc7de000000000000000000000000000000000000000000000000000000005f526004523260245260445260645ffd5b809192505180155f1461017d5750503b15155b5f80610128565b819250906020918101031261019a57602001518015158114610176575b5f80fd5b7f4e487b71000000000000000000000000000000000000000000000000000000005f52604160045260245ffd5b6060610122565b90601f7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0910116810190811067ffffffffffffffff82111761019e5760405256"
} as const;
export const conditions = {} as const;
export const guards = {} as const;
export const outcomeProof = {} as const;
