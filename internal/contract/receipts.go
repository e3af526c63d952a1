package contract

// Receipt is a job's receipt: a DSSE envelope around an in-toto Statement (doc/receipts.md).
type Receipt struct {
	PayloadType string             `json:"payloadType" enum:"application/vnd.in-toto+json" doc:"What the payload is."`
	Payload     string             `json:"payload" contentEncoding:"base64" doc:"The statement, JSON in base64: predicateType is urn:molfabric:receipt:v1."`
	Signatures  []ReceiptSignature `json:"signatures" minItems:"1" doc:"Over type and payload, as DSSE joins them."`
}

// ReceiptSignature is a signature with the key that made it.
type ReceiptSignature struct {
	KeyID string `json:"keyid" doc:"Id of a key of GET /v1/receipts/keys."`
	Sig   string `json:"sig" contentEncoding:"base64" doc:"The 64 bytes of the signature, in base64."`
}

// ReceiptKeyList has every key that has signed receipts.
type ReceiptKeyList struct {
	Keys []ReceiptKey `json:"keys" doc:"The one that signs now first."`
}

// ReceiptKey is a public key.
type ReceiptKey struct {
	KeyID     string `json:"keyid" doc:"SHA-256 of the key as PKIX writes it in DER, 64 hexadecimal digits."`
	Algorithm string `json:"algorithm" enum:"ed25519" doc:"How it signs."`
	PublicKey string `json:"publicKey" doc:"The key as PKIX has it, in PEM."`
	Current   bool   `json:"current" doc:"Whether new receipts are signed with it."`
}
