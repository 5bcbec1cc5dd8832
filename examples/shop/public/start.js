// The script of the shop's first page. The script lets the customer's wallet fill in the address to
// which money is returned.

import "executable-address-element/recovery";
