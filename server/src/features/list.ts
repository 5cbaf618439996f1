import type { Reaction } from '../events/events.ts'
import type { Routes } from '../http/http.ts'
import type { Loader } from '../http/loaders.ts'
import type { JobHandler } from '../jobs/handler.ts'
import { agentPoolLoaders } from './agents/agent-pools/includes.ts'
import { agentPoolRoutes } from './agents/agent-pools/routes.ts'
import { agentTokenRoutes } from './agents/agent-pools/token-routes.ts'
import { agentJobs } from './agents/agents/jobs.ts'
import { agentReactions } from './agents/agents/reactions.ts'
import { agentRoutes } from './agents/agents/routes.ts'
import { accountRoutes } from './identity/account/routes.ts'
import { twoFactorRoutes } from './identity/account/two-factor-routes.ts'
import { avatarRoutes } from './identity/avatars/routes.ts'
import { oauthJobs } from './identity/oauth/jobs.ts'
import { oauthRoutes } from './identity/oauth/routes.ts'
import { sessionJobs } from './identity/sessions/jobs.ts'
import { sessionRoutes } from './identity/sessions/routes.ts'
import { userTokenRoutes } from './identity/tokens/routes.ts'
import { userLoaders } from './identity/users/includes.ts'
import { userRoutes } from './identity/users/routes.ts'
import { anyTokenRoutes } from './organizations/authentication-tokens/routes.ts'
import { membershipLoaders } from './organizations/organization-memberships/includes.ts'
import { membershipRoutes } from './organizations/organization-memberships/routes.ts'
import { organizationTokenRoutes } from './organizations/organization-tokens/routes.ts'
import { organizationLoaders } from './organizations/organizations/includes.ts'
import { organizationRoutes } from './organizations/organizations/routes.ts'
import { projectLoaders } from './organizations/projects/includes.ts'
import { projectRoutes } from './organizations/projects/routes.ts'
import { ssoRoutes } from './organizations/sso/routes.ts'
import { reservedTagKeyRoutes } from './organizations/tags/reserved-key-routes.ts'
import { projectTagBindingRoutes } from './organizations/tags/routes.ts'
import { teamTokenRoutes } from './organizations/team-tokens/routes.ts'
import { teamLoaders } from './organizations/teams/includes.ts'
import { teamRoutes } from './organizations/teams/routes.ts'
import { jobContentRoutes } from './runs/agent-jobs/content-routes.ts'
import { engineResponsesRoutes } from './runs/agent-jobs/engine-response-routes.ts'
import { agentJobReactions } from './runs/agent-jobs/reactions.ts'
import { agentJobRoutes } from './runs/agent-jobs/routes.ts'
import { applyRoutes } from './runs/applies/routes.ts'
import { commentLoaders } from './runs/comments/includes.ts'
import { commentRoutes } from './runs/comments/routes.ts'
import { configurationVersionLoaders } from './runs/configuration-versions/includes.ts'
import { configurationVersionJobs } from './runs/configuration-versions/jobs.ts'
import { configurationVersionRoutes } from './runs/configuration-versions/routes.ts'
import { organizationOverviewRoutes } from './runs/organization-overviews/routes.ts'
import { phaseLoaders } from './runs/plans/includes.ts'
import { planJobs } from './runs/plans/jobs.ts'
import { planRoutes } from './runs/plans/routes.ts'
import { runDeciderRoutes } from './runs/run-deciders/routes.ts'
import { runEventLoaders } from './runs/run-events/includes.ts'
import { runEventRoutes } from './runs/run-events/routes.ts'
import { runTriggerJobs } from './runs/run-triggers/jobs.ts'
import { runTriggerReactions } from './runs/run-triggers/reactions.ts'
import { runTriggerRoutes } from './runs/run-triggers/routes.ts'
import { runActionRoutes } from './runs/runs/action-routes.ts'
import { runLoaders } from './runs/runs/includes.ts'
import { runJobs } from './runs/runs/jobs.ts'
import { organizationRunRoutes } from './runs/runs/organization-routes.ts'
import { runReactions } from './runs/runs/reactions.ts'
import { runRoutes } from './runs/runs/routes.ts'
import { taskStageLoaders } from './runs/task-stages/includes.ts'
import { taskStageReactions } from './runs/task-stages/reactions.ts'
import { taskStageRoutes } from './runs/task-stages/routes.ts'
import { workspaceDeletionRoutes } from './runs/workspace-deletion/routes.ts'
import { workspaceReadmeRoutes } from './runs/workspace-readmes/routes.ts'
import { adminOrganizationRoutes } from './site/admin/organization-routes.ts'
import { adminUserRoutes } from './site/admin/user-routes.ts'
import { agentPackageRoutes } from './site/agent-package/routes.ts'
import { auditTrailJobs } from './site/audit-trail/jobs.ts'
import { auditTrailRoutes } from './site/audit-trail/routes.ts'
import { blobShelfJobs } from './site/blob-shelves/jobs.ts'
import { changeRoutes } from './site/changes/routes.ts'
import { discoveryRoutes } from './site/discovery/routes.ts'
import { healthRoutes } from './site/health/routes.ts'
import { sampleJobs } from './site/samples/jobs.ts'
import { sampleRoutes } from './site/samples/routes.ts'
import { backingDataRoutes } from './states/backing-data/routes.ts'
import { dataRetentionJobs } from './states/data-retention/jobs.ts'
import { dataRetentionRoutes } from './states/data-retention/routes.ts'
import { stateVersionDiffRoutes } from './states/state-version-diffs/routes.ts'
import { stateVersionOutputLoaders } from './states/state-version-outputs/includes.ts'
import { stateVersionOutputRoutes } from './states/state-version-outputs/routes.ts'
import { stateContentRoutes } from './states/state-versions/content-routes.ts'
import { stateVersionLoaders } from './states/state-versions/includes.ts'
import { stateVersionJobs } from './states/state-versions/jobs.ts'
import { stateVersionReactions } from './states/state-versions/reactions.ts'
import { stateVersionRoutes } from './states/state-versions/routes.ts'
import { workspaceResourceRoutes } from './states/workspace-resources/routes.ts'
import { taskReactions } from './tasks/run-tasks/reactions.ts'
import { taskRoutes } from './tasks/run-tasks/routes.ts'
import { taskRequestReactions } from './tasks/task-requests/reactions.ts'
import { taskRequestRoutes } from './tasks/task-requests/routes.ts'
import { taskResultLoaders } from './tasks/task-results/includes.ts'
import { taskResultJobs } from './tasks/task-results/jobs.ts'
import { taskResultRoutes } from './tasks/task-results/routes.ts'
import { workspaceTaskLoaders } from './tasks/workspace-tasks/includes.ts'
import { workspaceTaskRoutes } from './tasks/workspace-tasks/routes.ts'
import { teamAccessRoutes } from './workspaces/team-access/routes.ts'
import { variableSetLoaders } from './workspaces/variable-sets/includes.ts'
import { variableSetRoutes } from './workspaces/variable-sets/routes.ts'
import { variableSetScopeRoutes } from './workspaces/variable-sets/scope-routes.ts'
import { variableSetVariableRoutes } from './workspaces/variable-sets/variable-routes.ts'
import { legacyVariableRoutes, variableRoutes } from './workspaces/variables/routes.ts'
import { tagRoutes, workspaceTagBindingRoutes, workspaceTagRoutes } from './workspaces/workspace-tags/routes.ts'
import { consumerRoutes } from './workspaces/workspaces/consumer-routes.ts'
import { workspaceLoaders } from './workspaces/workspaces/includes.ts'
import { workspaceLockRoutes } from './workspaces/workspaces/lock-routes.ts'
import { workspaceRoutes } from './workspaces/workspaces/routes.ts'

/** Every route of the server, a line for each feature. */
export const ROUTES: readonly Routes[] = [
  discoveryRoutes,
  healthRoutes,
  accountRoutes,
  adminOrganizationRoutes,
  adminUserRoutes,
  agentJobRoutes,
  jobContentRoutes,
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

/** What areas do about what happens below them, in this order. */
export const REACTIONS: readonly Reaction[] = [
  ...agentReactions,
  ...taskReactions,
  ...taskRequestReactions,
  ...stateVersionReactions,
  ...runReactions,
  ...runTriggerReactions,
  ...taskStageReactions,
  ...agentJobReactions,
]

/** How resources get into the documents that include them. */
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
  ...variableSetLoaders,
  ...workspaceLoaders,
  ...workspaceTaskLoaders,
]

/** Everything that runs in the background. */
export const JOBS: readonly JobHandler[] = [
  ...agentJobs,
  ...auditTrailJobs,
  ...blobShelfJobs,
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
