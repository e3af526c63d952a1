package keys

import "github.com/molfabric/molfabric/internal/contract"

type createInput struct{ Body contract.CreateRequest }

type createOutput struct {
	Body contract.CreatedKey
}

type listOutput struct{ Body contract.KeyList }

type revokeInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the key."`
}

type revokeOutput struct{ Body contract.Revocation }
