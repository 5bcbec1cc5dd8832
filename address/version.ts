/** It is the package's version; a test compares them. */
export const version = "0.1.0";
