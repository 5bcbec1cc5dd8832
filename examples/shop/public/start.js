// The shop's first page: the customer's wallet may fill in the address that gets money back.

import "executable-address-element/recovery";
