import type { Routes } from '../http/http.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { accountRoutes } from './account/routes.ts'
import { twoFactorRoutes } from './account/two-factor-routes.ts'
import { adminOrganizationRoutes, adminUserRoutes } from './admin/routes.ts'
import { agentJobRoutes } from './agent-jobs/routes.ts'
import { agentPoolRoutes } from './agent-pools/routes.ts'
import { agentRoutes } from './agents/routes.ts'
import { applyRoutes } from './applies/routes.ts'
import { auditTrailJobs } from './audit-trail/jobs.ts'
import { auditTrailRoutes } from './audit-trail/routes.ts'
import { avatarRoutes } from './avatars/routes.ts'
import { configurationVersionJobs } from './configuration-versions/jobs.ts'
import { configurationVersionRoutes } from './configuration-versions/routes.ts'
import { dataRetentionJobs } from './data-retention/jobs.ts'
import { dataRetentionRoutes } from './data-retention/routes.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { oauthJobs } from './oauth/jobs.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { membershipRoutes } from './organization-memberships/routes.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { planJobs } from './plans/jobs.ts'
import { planRoutes } from './plans/routes.ts'
import { projectAccessRoutes } from './project-access/routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { taskRoutes } from './run-tasks/routes.ts'
import { workspaceTaskRoutes } from './run-tasks/workspace-task-routes.ts'
import { runEventRoutes } from './runs/event-routes.ts'
import { runJobs } from './runs/jobs.ts'
import { runRoutes } from './runs/routes.ts'
import { sessionJobs } from './sessions/jobs.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { ssoRoutes } from './sso/routes.ts'
import { stateVersionOutputRoutes } from './state-version-outputs/routes.ts'
import { stateVersionJobs } from './state-versions/jobs.ts'
import { stateVersionRoutes } from './state-versions/routes.ts'
import { reservedTagKeyRoutes, tagBindingRoutes, tagRoutes } from './tags/routes.ts'
import { taskResultRoutes } from './task-results/routes.ts'
import { taskStageJobs } from './task-stages/jobs.ts'
import { taskStageRoutes } from './task-stages/routes.ts'
import { teamAccessRoutes } from './team-access/routes.ts'
import { teamRoutes } from './teams/routes.ts'
import { anyTokenRoutes } from './tokens/any-token-routes.ts'
import { organizationTokenRoutes } from './tokens/organization-token-routes.ts'
import { teamTokenRoutes } from './tokens/team-token-routes.ts'
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
  adminOrganizationRoutes,
  adminUserRoutes,
  agentJobRoutes,
  agentPoolRoutes,
  agentRoutes,
  anyTokenRoutes,
  applyRoutes,
  auditTrailRoutes,
  avatarRoutes,
  configurationVersionRoutes,
  consumerRoutes,
  dataRetentionRoutes,
  membershipRoutes,
  oauthRoutes,
  organizationRoutes,
  organizationTokenRoutes,
  planRoutes,
  projectAccessRoutes,
  projectRoutes,
  reservedTagKeyRoutes,
  runEventRoutes,
  runRoutes,
  sessionRoutes,
  ssoRoutes,
  stateVersionOutputRoutes,
  stateVersionRoutes,
  tagBindingRoutes,
  tagRoutes,
  taskResultRoutes,
  taskRoutes,
  taskStageRoutes,
  teamAccessRoutes,
  teamRoutes,
  teamTokenRoutes,
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
export const JOBS: readonly JobHandler[] = [
  ...auditTrailJobs,
  ...configurationVersionJobs,
  ...dataRetentionJobs,
  ...oauthJobs,
  ...planJobs,
  ...runJobs,
  ...sessionJobs,
  ...stateVersionJobs,
  ...taskStageJobs,
]
