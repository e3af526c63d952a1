package settings

import "github.com/molfabric/molfabric/internal/contract"

// defaultEnforcement is what a server does that says nothing about its seats.
const defaultEnforcement = "ENFORCED"

type createInput struct{ Body contract.LicenseServerRequest }

type createOutput struct {
	Location string `header:"Location" doc:"Address of the licence server."`
	Body     contract.LicenseServer
}

type listOutput struct{ Body contract.LicenseServerList }

type serverInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the licence server."`
}

type replaceInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Id of the licence server."`
	Body contract.LicenseServerRequest
}

type serverOutput struct{ Body contract.LicenseServer }
