// The formats of the credentials and IDs that the service generates. The service's generators, the
// library's checks, and the OpenAPI document use these patterns.

/** The last 8 digits are a checksum, which the service verifies. */
export const apiKeyPattern = /^svc_sk_[0-9a-f]{64}$/;
export const clientIdPattern = /^svc_client_[0-9a-f]{32}$/;
export const referenceKeyPattern = /^svc_ref_[0-9a-f]{64}$/;
/** The patterns in words, for error messages and documentation. */
export const apiKeyFormat = "svc_sk_ and 64 lowercase hex digits";
export const clientIdFormat = "svc_client_ and 32 lowercase hex digits";
export const referenceKeyFormat = "svc_ref_ and 64 lowercase hex digits";

export const eventIdPattern = /^evt_[0-9a-f]{32}$/;
export const endpointIdPattern = /^whe_[0-9a-f]{24}$/;
export const deliveryIdPattern = /^whd_[0-9a-f]{24}$/;
