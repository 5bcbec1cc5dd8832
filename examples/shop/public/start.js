// The script of the shop's first page. The customer's wallet can fill in the address for refunds.

import "executable-address-element/recovery";
