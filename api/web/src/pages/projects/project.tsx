import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Project } from '@/api/client'
import { Button, Card, Facts, Failure, Loading, PageHead } from '@/design'
import { saveText } from '@/design/save'
import { when } from '@/words'
import { Compare } from './compare'
import { ContentTree } from './content'
import { Edit } from './edit'
import { OpenInStudio } from './open'
import { asJson, projectQuery } from './queries'
import { Revision } from './revision'
import { Revisions } from './revisions'
import { Share } from './share'

/** A number of a version in the address; undefined for anything else. */
const versionOf = (text: string | undefined) => (text && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined)

export function ProjectPage() {
  const { projectId } = useParams({ strict: false }) as { projectId: string }
  const search = useSearch({ strict: false }) as { revision?: string; compare?: string }
  const project = useQuery(projectQuery(projectId))
  if (project.isPending) return <Loading what="the project" />
  if (!project.data) return <>
    <PageHead title="Project" lead={<Link to="/projects">All projects</Link>} />
    <Failure error={project.error} retry={() => void project.refetch()} />
  </>
  const head = project.data
  const revision = versionOf(search.revision)
  const compare = versionOf(search.compare)
  const old = revision !== undefined && revision !== head.currentVersion
  return (
    <>
      <PageHead title={head.name}
        lead={<><Link to="/projects">All projects</Link> · version {old ? revision : head.currentVersion}</>} />
      {compare !== undefined ? <Compare project={head} from={compare} to={revision ?? head.currentVersion} />
        : old ? <Revision project={head} version={revision} /> : <Head project={head} />}
    </>
  )
}

function Head({ project }: { project: Project }) {
  const [editing, setEditing] = useState(false)
  return (
    <div className="grid grid-cols-1 gap-4">
      {editing ? <Edit project={project} done={() => setEditing(false)} /> : (
        <Card title="About" actions={<Button onClick={() => setEditing(true)}>Edit</Button>}>
          <p className="mb-3 max-w-prose whitespace-pre-wrap wrap-anywhere">
            {project.description || <span className="text-soft">No description.</span>}
          </p>
          <Facts facts={[
            ['Tags', project.tags.join(', ') || '–'], ['Made', when(project.createdAt)], ['Saved', when(project.updatedAt)],
            ['SHA-256', <code key="sum" className="text-xs">{project.contentSha256}</code>],
          ]} />
        </Card>
      )}
      <OpenInStudio projectId={project.projectId} content={project.content} />
      <Share project={project} />
      <Card title="Content"
        actions={<Button
        onClick={() => saveText(`${project.name}.json`, 'application/json', JSON.stringify(project.content, null, 2))}>
          Save as JSON
        </Button>}>
        <ContentTree value={asJson(project.content)} />
      </Card>
      <Revisions project={project} />
    </div>
  )
}
