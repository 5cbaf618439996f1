import type { Routes } from '../http/http.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { accountRoutes } from './account/routes.ts'
import { twoFactorRoutes } from './account/two-factor-routes.ts'
import { avatarRoutes } from './avatars/routes.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { taskRoutes } from './run-tasks/routes.ts'
import { workspaceTaskRoutes } from './run-tasks/workspace-task-routes.ts'
import { sessionJobs } from './sessions/jobs.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { reservedTagKeyRoutes, tagBindingRoutes, tagRoutes } from './tags/routes.ts'
import { userTokenRoutes } from './tokens/user-token-routes.ts'
import { userRoutes } from './users/routes.ts'
import { variableSetRoutes, variableSetScopeRoutes, variableSetVariableRoutes } from './variable-sets/routes.ts'
import { variableRoutes } from './variables/routes.ts'
import { consumerRoutes } from './workspaces/consumer-routes.ts'
import { workspaceRoutes } from './workspaces/routes.ts'

/** Every route of the server, a line for each feature. */
export const ROUTES: readonly Routes[] = [
  discoveryRoutes,
  healthRoutes,
  accountRoutes,
  avatarRoutes,
  consumerRoutes,
  organizationRoutes,
  projectRoutes,
  reservedTagKeyRoutes,
  sessionRoutes,
  tagBindingRoutes,
  tagRoutes,
  taskRoutes,
  twoFactorRoutes,
  userRoutes,
  userTokenRoutes,
  variableRoutes,
  variableSetRoutes,
  variableSetScopeRoutes,
  variableSetVariableRoutes,
  workspaceRoutes,
  workspaceTaskRoutes,
]

/** Everything that runs in the background. */
export const JOBS: readonly JobHandler[] = [...sessionJobs]
