// What the other rooms need of the contracts: the ABI and where the factory is.
export {};
