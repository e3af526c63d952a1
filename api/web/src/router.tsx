// Which page an address opens. Pages come in pieces, when they are first opened; an address that the service has promised
// (doc/contract.md §4: /studio?dockingRun=… and its like) leads to the page of the thing that it names.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router'
import { Empty, Failure, Loading } from './design'
import { queries, sessionQuery } from './session'
import { More, Shell } from './shell'

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => <main className="p-6"><Empty title="There is no such page"><a href="/">Go to your jobs</a></Empty></main>,
})

type Search = Record<string, string | undefined>

/** Search parameters that a page reads: texts, the others are dropped. */
const texts = (...names: string[]) => (given: Record<string, unknown>): Search =>
  Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, String(given[name])]])))

const signIn = createRoute({
  getParentRoute: () => root, path: '/sign-in', validateSearch: texts('next'),
  component: lazyRouteComponent(() => import('./pages/entry/sign-in'), 'SignIn'),
})
const signUp = createRoute({
  getParentRoute: () => root, path: '/sign-up', validateSearch: texts('next'),
  component: lazyRouteComponent(() => import('./pages/entry/sign-up'), 'SignUp'),
})

/** A share opens without an account. */
const share = createRoute({
  getParentRoute: () => root, path: '/shared/$token', component: lazyRouteComponent(() => import('./pages/projects/shared'), 'SharedPage'),
})

const enter = createRoute({
  getParentRoute: () => root, path: '/enter', component: lazyRouteComponent(() => import('./pages/entry/enter'), 'Enter'),
})

const shell = createRoute({
  getParentRoute: () => root, id: 'shell', component: Shell,
  beforeLoad: async ({ location }) => {
    const session = await queries.ensureQueryData(sessionQuery).catch(() => undefined)
    if (session === null) throw redirect({ to: '/sign-in', search: { next: location.href } })
  },
})

/** studio are the addresses that answers of the API carry. */
const studio = createRoute({
  getParentRoute: () => shell, path: '/studio', validateSearch: texts('dockingBatch', 'dockingRun', 'dockingResult', 'dockingPose', 'project', 'revision'),
  beforeLoad: ({ search }) => {
    const to = (page: string) => redirect({ href: page, replace: true })
    if (search.dockingBatch) throw to(`/dockings?batch=${encodeURIComponent(search.dockingBatch)}`)
    if (search.dockingRun) throw to(`/dockings/${encodeURIComponent(search.dockingRun)}`)
    if (search.dockingResult) throw to(`/ligands/${encodeURIComponent(search.dockingResult)}`)
    if (search.dockingPose) throw to(`/poses/${encodeURIComponent(search.dockingPose)}`)
    if (search.project) throw to(`/projects/${encodeURIComponent(search.project)}` + (search.revision ? `?revision=${encodeURIComponent(search.revision)}` : ''))
    throw to('/studio/sessions')
  },
})

const page = (path: string, load: () => Promise<Record<string, unknown>>, name: string, ...search: string[]) =>
  createRoute({ getParentRoute: () => shell, path, validateSearch: texts(...search), component: lazyRouteComponent(load as never, name as never) })

const pages = [
  page('/', () => import('./pages/jobs/dashboard'), 'Dashboard', 'status', 'q'),
  page('/jobs/$jobId', () => import('./pages/jobs/job'), 'JobPage', 'tab'),
  page('/new', () => import('./pages/new/choose'), 'Choose'),
  page('/new/docking', () => import('./pages/new/docking'), 'NewDocking', 'structure'),
  page('/new/pockets', () => import('./pages/new/pockets'), 'NewPockets'),
  page('/new/dynamics', () => import('./pages/new/dynamics'), 'NewDynamics'),
  page('/new/search', () => import('./pages/new/search'), 'NewSearch'),
  page('/new/folding', () => import('./pages/new/folding'), 'NewFolding'),
  page('/new/rendering', () => import('./pages/new/rendering'), 'NewRendering'),
  page('/dockings', () => import('./pages/docking/list'), 'Dockings', 'batch'),
  page('/dockings/$runId', () => import('./pages/docking/run'), 'RunPage', 'ligand', 'sort', 'q', 'status', 'maxScore'),
  page('/ligands/$resultId', () => import('./pages/docking/ligand'), 'LigandPage'),
  page('/poses/$poseId', () => import('./pages/docking/pose'), 'PosePage'),
  page('/searches', () => import('./pages/searches/list'), 'Searches'),
  page('/searches/$jobId', () => import('./pages/searches/search'), 'SearchPage', 'sort', 'q'),
  page('/searches/$jobId/queries/$index', () => import('./pages/searches/query'), 'QueryPage'),
  page('/studio/sessions', () => import('./pages/studio/list'), 'Sessions', 'source'),
  page('/studio/sessions/$sessionId', () => import('./pages/studio/session'), 'SessionPage'),
  page('/projects', () => import('./pages/projects/list'), 'Projects'),
  page('/projects/$projectId', () => import('./pages/projects/project'), 'ProjectPage', 'revision', 'compare'),
  page('/credits', () => import('./pages/account/credits'), 'Credits', 'topup'),
  page('/keys', () => import('./pages/account/keys'), 'Keys'),
  page('/settings', () => import('./pages/account/settings'), 'Settings'),
  page('/operator', () => import('./pages/operator/operator'), 'Operator'),
]
const more = createRoute({ getParentRoute: () => shell, path: '/more', component: More })

export const router = createRouter({
  // Queries are plain words, as the addresses have them that answers of the API carry; the router's own way puts them in quotes.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).flatMap(([name, value]) => (value == null || value === '' ? [] : [[name, String(value)]]))
    return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  },
  routeTree: root.addChildren([signIn, signUp, enter, share, shell.addChildren([studio, more, ...pages])]),
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: () => <Loading what="the page" />,
  defaultErrorComponent: ({ error, reset }) => <div className="p-6"><Failure error={error} retry={reset} /></div>,
})
