import type { Routes } from '../http/http.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { stateVersionOutputRoutes } from './state-version-outputs/routes.ts'
import { stateVersionJobs } from './state-versions/jobs.ts'
import { stateVersionRoutes } from './state-versions/routes.ts'

/** Every route of the server, a line for each feature. */
export const ROUTES: readonly Routes[] = [discoveryRoutes, stateVersionRoutes, stateVersionOutputRoutes]

/** Everything that runs in the background. */
export const JOBS: readonly JobHandler[] = [...stateVersionJobs]
