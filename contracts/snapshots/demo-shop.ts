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
      "name": "intentOf",
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
        },
        {
          "name": "expiry",
          "type": "uint64",
          "internalType": "uint64"
        },
        {
          "name": "recovery",
          "type": "address",
          "internalType": "address"
        },
        {
          "name": "salt",
          "type": "bytes32",
          "internalType": "bytes32"
        }
      ],
      "outputs": [
        {
          "name": "",
          "type": "tuple",
          "internalType": "struct Intent",
          "components": [
            {
              "name": "token",
              "type": "address",
              "internalType": "address"
            },
            {
              "name": "amount",
              "type": "uint256",
              "internalType": "uint256"
            },
            {
              "name": "calls",
              "type": "tuple[]",
              "internalType": "struct Call[]",
              "components": [
                {
                  "name": "target",
                  "type": "address",
                  "internalType": "address"
                },
                {
                  "name": "signature",
                  "type": "string",
                  "internalType": "string"
                },
                {
                  "name": "names",
                  "type": "string",
                  "internalType": "string"
                },
                {
                  "name": "args",
                  "type": "bytes",
                  "internalType": "bytes"
                }
              ]
            },
            {
              "name": "expirationTimestamp",
              "type": "uint64",
              "internalType": "uint64"
            },
            {
              "name": "recovery",
              "type": "address",
              "internalType": "address"
            },
            {
              "name": "salt",
              "type": "bytes32",
              "internalType": "bytes32"
            },
            {
              "name": "chainId",
              "type": "uint256",
              "internalType": "uint256"
            }
          ]
        }
      ],
      "stateMutability": "view"
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
      "name": "payOrder",
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
        },
        {
          "name": "expiry",
          "type": "uint64",
          "internalType": "uint64"
        },
        {
          "name": "recovery",
          "type": "address",
          "internalType": "address"
        },
        {
          "name": "salt",
          "type": "bytes32",
          "internalType": "bytes32"
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
      "name": "NotVaultOfIntent",
      "inputs": [
        {
          "name": "wanted",
          "type": "address",
          "internalType": "address"
        },
        {
          "name": "found",
          "type": "address",
          "internalType": "address"
        }
      ]
    },
    {
      "type": "error",
      "name": "NotWithinExecution",
      "inputs": [
        {
          "name": "vault",
          "type": "address",
          "internalType": "address"
        }
      ]
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
  "bytecode": "0x60a034607357601f610a3e38819003918201601f19168301916001600160401b03831184841017607757808492602094604052833981010312607357516001600160a01b03811681036073576080526040516109b2908161008c8239608051818181608f0152818161065b01526108e30152f35b5f80fd5b634e487b7160e01b5f52604160045260245ffdfe60806040526004361015610011575f80fd5b5f3560e01c806336d4ad9b146101235780639ca99f0e146100f6578063ef48eee6146100b75763fc0c546a14610045575f80fd5b346100b3575f7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc3601126100b357602060405173ffffffffffffffffffffffffffffffffffffffff7f0000000000000000000000000000000000000000000000000000000000000000168152f35b5f80fd5b346100b35760407ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc3601126100b3576100f460243560043561088d565b005b346100b35761011f61011361010a36610282565b93929092610571565b60405191829182610333565b0390f35b346100b357610178602061014561013936610282565b91838596949795610571565b604051809581927f13f3190800000000000000000000000000000000000000000000000000000000835260048301610333565b03816fb4ae95d828d2274dce26cfa9199810de5afa928315610277575f93610226575b5073ffffffffffffffffffffffffffffffffffffffff8316928333036101f6573b6101ca576100f4925061088d565b827fa8d2ec9c000000000000000000000000000000000000000000000000000000005f5260045260245ffd5b837fc285e6a7000000000000000000000000000000000000000000000000000000005f526004523360245260445ffd5b9092506020813d60201161026f575b81610242602093836104e6565b810103126100b3575173ffffffffffffffffffffffffffffffffffffffff811681036100b357918361019b565b3d9150610235565b6040513d5f823e3d90fd5b7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc60a09101126100b357600435906024359060443567ffffffffffffffff811681036100b3579060643573ffffffffffffffffffffffffffffffffffffffff811681036100b3579060843590565b907fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f602080948051918291828752018686015e5f8582860101520116010190565b6020815261010081019173ffffffffffffffffffffffffffffffffffffffff81511660208301526020810151604083015260408101519260e06060840152835180915261012083019060206101208260051b8601019501915f905b8282106103e3575050505060c08167ffffffffffffffff606060e094015116608085015273ffffffffffffffffffffffffffffffffffffffff60808201511660a085015260a081015182850152015191015290565b90919295602080610473837ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffee08a600196030186528a519073ffffffffffffffffffffffffffffffffffffffff825116815260606104626104508685015160808886015260808501906102f0565b604085015184820360408601526102f0565b9201519060608184039101526102f0565b98019201920190929161038e565b60e0810190811067ffffffffffffffff82111761049d57604052565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52604160045260245ffd5b6080810190811067ffffffffffffffff82111761049d57604052565b90601f7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0910116810190811067ffffffffffffffff82111761049d57604052565b8051156105345760200190565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52603260045260245ffd5b8051600110156105345760400190565b919392905f60c060405161058481610481565b828152826020820152606060408201528260608201528260808201528260a08201520152606090604051906105b983836104e6565b600282527fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe083015f5b81811061085f57505073ffffffffffffffffffffffffffffffffffffffff67ffffffffffffffff604051983060208b01528360408b015261064c868b8003017fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe081018c528b6104e6565b604051610658816104ca565b837f0000000000000000000000000000000000000000000000000000000000000000169a8b825260405161068d6040826104e6565b601881527f617070726f766528616464726573732c75696e74323536290000000000000000602082015260208301526040516106ca6040826104e6565b600e81527f7370656e6465722c616d6f756e74000000000000000000000000000000000000602082015260408301528782015261070686610527565b5261071085610527565b506040519760208901528360408901521694858588015216948560808201528660a082015260a0815261074460c0826104e6565b60405190610751826104ca565b30825260405161076186826104e6565b603081527f7061794f726465722875696e743235362c75696e743235362c75696e7436342c60208201527f616464726573732c627974657333322900000000000000000000000000000000604082015260208301526040516107c386826104e6565b602381527f6f7264657249642c616d6f756e742c6578706972792c7265636f766572792c7360208201527f616c740000000000000000000000000000000000000000000000000000000000604082015260408301528482015261082583610561565b5261082f82610561565b506040519661083d88610481565b875260208701526040860152840152608083015260a08201524660c082015290565b60209060405161086e816104ca565b5f815286838201528660408201528680820152828287010152016105e2565b6040517f23b872dd0000000000000000000000000000000000000000000000000000000081523360048201523060248201528260448201526020816064815f73ffffffffffffffffffffffffffffffffffffffff7f0000000000000000000000000000000000000000000000000000000000000000165af1908115610277575f91610977575b5015610947576040519182527f4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f60203393a3565b507fa09e6165000000000000000000000000000000000000000000000000000000005f523360045260245260445ffd5b90506020813d6020116109aa575b81610992602093836104e6565b810103126100b3575180151581036100b3575f610913565b3d915061098556"
} as const;
