// The shop's first page: the customer's wallet can fill in the address to which money is returned.

import "executable-address-element/recovery";
