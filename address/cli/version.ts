/** That of the package; a test compares. */
export const version = "0.1.0";
