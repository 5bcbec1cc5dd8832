// The script of the shop's first page. It lets customers take the address for refunds from their
// wallet.

import "executable-address-element/recovery";
