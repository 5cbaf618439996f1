import type { Routes } from '../http/http.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { healthRoutes } from './health/routes.ts'

/** Every route of the server, a line for each feature. */
export const ROUTES: readonly Routes[] = [discoveryRoutes, healthRoutes]

/** Everything that runs in the background. */
export const JOBS: readonly JobHandler[] = []
