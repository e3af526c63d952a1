package jobs

import (
	"time"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
)

// OutputQuery filters the files of a job.
type OutputQuery struct {
	list.Query
	Role      []string           `query:"role,explode" enum:"result,frame,log,preview,provenance,checkpoint" maxItems:"6" doc:"Files of any of these roles; may be repeated."`
	TaskIndex wire.Optional[int] `query:"taskIndex" minimum:"0" maximum:"19999" doc:"Files of the task at this position alone."`
}

// ListQuery filters the list of jobs.
type ListQuery struct {
	list.Query
	Status        []string  `query:"status,explode" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" maxItems:"8" doc:"Jobs in any of these states; may be repeated."`
	JobType       string    `query:"jobType" enum:"render,simulation,molecular,pipeline" doc:"Jobs of this type."`
	Simulator     string    `query:"simulator" maxLength:"64" doc:"Jobs of this simulator; aliases are understood."`
	CreatedAfter  time.Time `query:"createdAfter" doc:"Jobs submitted after this time (RFC 3339)."`
	CreatedBefore time.Time `query:"createdBefore" doc:"Jobs submitted before this time (RFC 3339)."`
	Q             string    `query:"q" maxLength:"200" doc:"Jobs whose name holds this text, in either case, or whose id it is."`
}
