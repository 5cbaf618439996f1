import type { Routes } from '../http/http.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { accountRoutes } from './account/routes.ts'
import { twoFactorRoutes } from './account/two-factor-routes.ts'
import { avatarRoutes } from './avatars/routes.ts'
import { dataRetentionJobs } from './data-retention/jobs.ts'
import { dataRetentionRoutes } from './data-retention/routes.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { sessionJobs } from './sessions/jobs.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { stateVersionOutputRoutes } from './state-version-outputs/routes.ts'
import { stateVersionJobs } from './state-versions/jobs.ts'
import { stateVersionRoutes } from './state-versions/routes.ts'
import { userTokenRoutes } from './tokens/user-token-routes.ts'
import { userRoutes } from './users/routes.ts'
import { workspaceRoutes } from './workspaces/routes.ts'

/** Every route of the server, a line for each feature. */
export const ROUTES: readonly Routes[] = [
  discoveryRoutes,
  accountRoutes,
  avatarRoutes,
  dataRetentionRoutes,
  organizationRoutes,
  sessionRoutes,
  stateVersionOutputRoutes,
  stateVersionRoutes,
  twoFactorRoutes,
  userRoutes,
  userTokenRoutes,
  workspaceRoutes,
]

/** Everything that runs in the background. */
export const JOBS: readonly JobHandler[] = [...dataRetentionJobs, ...sessionJobs, ...stateVersionJobs]
