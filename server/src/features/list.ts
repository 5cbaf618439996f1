import type { Reaction } from '../events.ts'
import type { JobHandler } from '../handlers.ts'
import type { Routes } from '../http/http.ts'
import type { Loader } from '../http/loaders.ts'
import { agentPoolLoaders, agentPoolRoutes, agentTokenRoutes } from './agents/agent-pools/routes.ts'
import { agentJobs, agentReactions } from './agents/agents/jobs.ts'
import { agentRoutes } from './agents/agents/routes.ts'
import { accountRoutes, twoFactorRoutes } from './identity/account/routes.ts'
import { oauthRoutes } from './identity/oauth/routes.ts'
import { oauthJobs } from './identity/oauth/service.ts'
import { sessionRoutes } from './identity/sessions/routes.ts'
import { sessionJobs } from './identity/sessions/service.ts'
import { userTokenRoutes } from './identity/tokens/routes.ts'
import { userLoaders } from './identity/users/resource.ts'
import { avatarRoutes, userRoutes } from './identity/users/routes.ts'
import {
  anyTokenRoutes,
  organizationTokenRoutes,
  teamTokenRoutes,
} from './organizations/authentication-tokens/routes.ts'
import {
  membershipLoaders,
  membershipReactions,
  membershipRoutes,
} from './organizations/organization-memberships/routes.ts'
import { organizationLoaders, organizationRoutes } from './organizations/organizations/routes.ts'
import {
  projectLoaders,
  projectReactions,
  projectRoutes,
  projectTagBindingRoutes,
} from './organizations/projects/routes.ts'
import { ssoRoutes } from './organizations/sso/routes.ts'
import { reservedTagKeyRoutes } from './organizations/tags/routes.ts'
import { teamLoaders, teamRoutes } from './organizations/teams/routes.ts'
import { engineResponsesRoutes } from './runs/agent-jobs/engine-response-routes.ts'
import { agentJobReactions, agentJobRoutes } from './runs/agent-jobs/routes.ts'
import { commentLoaders, commentRoutes } from './runs/comments/routes.ts'
import { configurationVersionJobs } from './runs/configuration-versions/jobs.ts'
import {
  configurationVersionLoaders,
  configurationVersionRoutes,
  workspaceReadmeRoutes,
} from './runs/configuration-versions/routes.ts'
import { organizationOverviewRoutes } from './runs/organization-overviews/routes.ts'
import { planJobs } from './runs/plans/jobs.ts'
import { applyRoutes, phaseLoaders, planRoutes } from './runs/plans/routes.ts'
import { runDeciderRoutes } from './runs/run-deciders/routes.ts'
import { runEventLoaders, runEventRoutes } from './runs/run-events/routes.ts'
import { runTriggerJobs, runTriggerReactions } from './runs/run-triggers/fire.ts'
import { runTriggerRoutes } from './runs/run-triggers/routes.ts'
import { runJobs, runReactions } from './runs/runs/jobs.ts'
import {
  organizationRunRoutes,
  runActionRoutes,
  runConfigurationRoutes,
  runLoaders,
  runRoutes,
} from './runs/runs/routes.ts'
import { taskStageLoaders, taskStageRoutes } from './runs/task-stages/routes.ts'
import { workspaceDeletionRoutes } from './runs/workspace-deletion/routes.ts'
import { adminOrganizationRoutes, adminUserRoutes } from './site/admin/routes.ts'
import { agentPackageRoutes } from './site/agent-package/routes.ts'
import { auditTrailJobs } from './site/audit-trail/jobs.ts'
import { auditTrailRoutes } from './site/audit-trail/routes.ts'
import { blobShardJobs } from './site/blob-shards/jobs.ts'
import { changeRoutes } from './site/changes/routes.ts'
import { discoveryRoutes } from './site/discovery/routes.ts'
import { healthRoutes } from './site/health/routes.ts'
import { sampleJobs, sampleRoutes } from './site/samples/routes.ts'
import { backingDataRoutes } from './states/backing-data/routes.ts'
import { dataRetentionJobs } from './states/data-retention/jobs.ts'
import { dataRetentionRoutes } from './states/data-retention/routes.ts'
import { stateVersionDiffRoutes } from './states/state-version-diffs/routes.ts'
import { stateVersionOutputLoaders, stateVersionOutputRoutes } from './states/state-version-outputs/routes.ts'
import { stateVersionLoaders } from './states/state-versions/includes.ts'
import { stateVersionJobs, stateVersionReactions } from './states/state-versions/jobs.ts'
import { stateContentRoutes, stateVersionRoutes } from './states/state-versions/routes.ts'
import { workspaceResourceRoutes } from './states/workspace-resources/routes.ts'
import { taskReactions } from './tasks/run-tasks/quotas.ts'
import { taskRoutes } from './tasks/run-tasks/routes.ts'
import { taskRequestRoutes } from './tasks/task-requests/routes.ts'
import { taskRequestReactions } from './tasks/task-requests/service.ts'
import { taskResultJobs } from './tasks/task-results/jobs.ts'
import { taskResultLoaders, taskResultRoutes } from './tasks/task-results/routes.ts'
import { workspaceTaskLoaders, workspaceTaskRoutes } from './tasks/workspace-tasks/routes.ts'
import { teamAccessRoutes } from './workspaces/team-access/routes.ts'
import {
  variableSetLoaders,
  variableSetRoutes,
  variableSetScopeRoutes,
  variableSetVariableRoutes,
} from './workspaces/variable-sets/routes.ts'
import { legacyVariableRoutes, variableLoaders, variableRoutes } from './workspaces/variables/routes.ts'
import {
  tagRoutes,
  workspaceTagBindingRoutes,
  workspaceTagLoaders,
  workspaceTagRoutes,
} from './workspaces/workspace-tags/routes.ts'
import {
  consumerRoutes,
  workspaceLoaders,
  workspaceLockRoutes,
  workspaceRoutes,
} from './workspaces/workspaces/routes.ts'

/** All routes of the server. */
export const ROUTES: readonly Routes[] = [
  discoveryRoutes,
  healthRoutes,
  accountRoutes,
  adminOrganizationRoutes,
  adminUserRoutes,
  agentJobRoutes,
  engineResponsesRoutes,
  agentPackageRoutes,
  agentPoolRoutes,
  agentRoutes,
  agentTokenRoutes,
  anyTokenRoutes,
  applyRoutes,
  auditTrailRoutes,
  avatarRoutes,
  backingDataRoutes,
  changeRoutes,
  commentRoutes,
  configurationVersionRoutes,
  consumerRoutes,
  dataRetentionRoutes,
  membershipRoutes,
  oauthRoutes,
  organizationOverviewRoutes,
  organizationRoutes,
  organizationRunRoutes,
  organizationTokenRoutes,
  planRoutes,
  projectRoutes,
  projectTagBindingRoutes,
  reservedTagKeyRoutes,
  runActionRoutes,
  runConfigurationRoutes,
  runDeciderRoutes,
  runEventRoutes,
  runRoutes,
  runTriggerRoutes,
  sampleRoutes,
  sessionRoutes,
  ssoRoutes,
  stateContentRoutes,
  stateVersionDiffRoutes,
  stateVersionOutputRoutes,
  stateVersionRoutes,
  tagRoutes,
  taskRequestRoutes,
  taskResultRoutes,
  taskRoutes,
  taskStageRoutes,
  teamAccessRoutes,
  teamRoutes,
  teamTokenRoutes,
  twoFactorRoutes,
  userRoutes,
  userTokenRoutes,
  legacyVariableRoutes,
  variableRoutes,
  variableSetRoutes,
  variableSetScopeRoutes,
  variableSetVariableRoutes,
  workspaceDeletionRoutes,
  workspaceLockRoutes,
  workspaceReadmeRoutes,
  workspaceResourceRoutes,
  workspaceRoutes,
  workspaceTagBindingRoutes,
  workspaceTagRoutes,
  workspaceTaskRoutes,
]

/** Reactions of features to events raised below them, in the order in which they run. */
export const REACTIONS: readonly Reaction[] = [
  ...projectReactions,
  ...membershipReactions,
  ...agentReactions,
  ...taskReactions,
  ...taskRequestReactions,
  ...stateVersionReactions,
  ...runReactions,
  ...runTriggerReactions,
  ...agentJobReactions,
]

/** Loaders of included resources. */
export const LOADERS: readonly Loader[] = [
  ...agentPoolLoaders,
  ...commentLoaders,
  ...configurationVersionLoaders,
  ...membershipLoaders,
  ...organizationLoaders,
  ...phaseLoaders,
  ...projectLoaders,
  ...runEventLoaders,
  ...runLoaders,
  ...stateVersionLoaders,
  ...stateVersionOutputLoaders,
  ...taskResultLoaders,
  ...taskStageLoaders,
  ...teamLoaders,
  ...userLoaders,
  ...variableLoaders,
  ...variableSetLoaders,
  ...workspaceLoaders,
  ...workspaceTagLoaders,
  ...workspaceTaskLoaders,
]

/** Handlers of background jobs. */
export const JOBS: readonly JobHandler[] = [
  ...agentJobs,
  ...auditTrailJobs,
  ...blobShardJobs,
  ...configurationVersionJobs,
  ...dataRetentionJobs,
  ...oauthJobs,
  ...planJobs,
  ...runJobs,
  ...runTriggerJobs,
  ...sampleJobs,
  ...sessionJobs,
  ...stateVersionJobs,
  ...taskResultJobs,
]
