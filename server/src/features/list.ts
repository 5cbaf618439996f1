import type { Reaction } from '../events.ts'
import type { JobHandler } from '../handlers.ts'
import type { Routes } from '../http/http.ts'
import type { Loader } from '../http/loaders.ts'
import { mailJobs } from '../mail/mail.ts'
import { agentPoolLoaders, agentPoolRoutes, agentTokenRoutes } from './agents/agent-pools/routes.ts'
import { agentJobs, agentReactions } from './agents/agents/jobs.ts'
import { agentRoutes } from './agents/agents/routes.ts'
import { accountRoutes, twoFactorRoutes } from './identity/account/routes.ts'
import { oauthRoutes } from './identity/oauth/routes.ts'
import { oauthJobs } from './identity/oauth/service.ts'
import { passwordResetRoutes } from './identity/password-resets/routes.ts'
import { passwordResetJobs } from './identity/password-resets/service.ts'
import { sessionRoutes } from './identity/sessions/routes.ts'
import { sessionJobs } from './identity/sessions/service.ts'
import { userTokenRoutes } from './identity/tokens/routes.ts'
import { avatarRoutes, userLoaders, userRoutes } from './identity/users/routes.ts'
import { notificationConfigurationRoutes } from './notifications/notification-configurations/routes.ts'
import { notificationSettingsRoutes } from './notifications/notification-settings/routes.ts'
import { notificationJobs } from './notifications/notifications/jobs.ts'
import { notificationReactions } from './notifications/notifications/raise.ts'
import { notificationRoutes } from './notifications/notifications/routes.ts'
import * as authenticationTokens from './organizations/authentication-tokens/routes.ts'
import { invitationRoutes } from './organizations/invitations/routes.ts'
import * as memberships from './organizations/organization-memberships/routes.ts'
import { organizationLoaders, organizationRoutes } from './organizations/organizations/routes.ts'
import * as projects from './organizations/projects/routes.ts'
import { ssoRoutes } from './organizations/sso/routes.ts'
import { signInSettingsRoutes } from './organizations/sso/settings-routes.ts'
import { reservedTagKeyRoutes } from './organizations/tags/routes.ts'
import { teamLoaders, teamRoutes } from './organizations/teams/routes.ts'
import { opaVersionRoutes } from './policies/opa-versions/routes.ts'
import { policyLoaders, policyRoutes } from './policies/policies/routes.ts'
import { policyEvaluationLoaders, policyEvaluationRoutes } from './policies/policy-evaluations/routes.ts'
import { policyEvaluationJobs, policyEvaluationReactions } from './policies/policy-evaluations/service.ts'
import { policyRequestRoutes } from './policies/policy-requests/routes.ts'
import { policyRequestJobs, policyRequestReactions } from './policies/policy-requests/service.ts'
import { policySetParameterRoutes } from './policies/policy-set-parameters/routes.ts'
import { policySetVersionJobs } from './policies/policy-set-versions/jobs.ts'
import { policySetVersionLoaders, policySetVersionRoutes } from './policies/policy-set-versions/routes.ts'
import { policySetLoaders, policySetRoutes, policySetScopeRoutes } from './policies/policy-sets/routes.ts'
import { gpgKeyRoutes } from './registry/gpg-keys/routes.ts'
import { moduleDocumentJobs, moduleDocumentReactions } from './registry/module-documents/jobs.ts'
import { moduleDocumentRoutes } from './registry/module-documents/routes.ts'
import { moduleJobs } from './registry/registry-modules/jobs.ts'
import { moduleProtocolRoutes } from './registry/registry-modules/protocol-routes.ts'
import { registryModuleRoutes } from './registry/registry-modules/routes.ts'
import { moduleSearchRoutes } from './registry/registry-modules/search-routes.ts'
import { providerProtocolRoutes } from './registry/registry-providers/protocol-routes.ts'
import * as registryProviders from './registry/registry-providers/routes.ts'
import { usageReactions } from './registry/registry-usages/service.ts'
import { commitStatusJobs, commitStatusReactions } from './repositories/commit-statuses/jobs.ts'
import { commitStatusRoutes } from './repositories/commit-statuses/routes.ts'
import { browserRoutes } from './repositories/connections/browser-routes.ts'
import { connectionJobs, connectionReactions } from './repositories/connections/service.ts'
import { vcsDeliveryJobs } from './repositories/deliveries/decide-delivery.ts'
import { vcsDeliveryLoaders, vcsDeliveryRoutes, webhookRoutes } from './repositories/deliveries/routes.ts'
import { vcsDeliveryExpiryJobs } from './repositories/deliveries/service.ts'
import { fetchCommitJobs } from './repositories/git/fetch-commit.ts'
import { fetchTipJobs, fetchTipReactions } from './repositories/git/fetch-tip.ts'
import { firstRunJobs, firstRunReactions } from './repositories/git/first-run.ts'
import { connectionRoutes } from './repositories/git/routes.ts'
import { hostRepositoryRoutes } from './repositories/host-repositories/routes.ts'
import { pollingJobs, pollingReactions } from './repositories/polling/jobs.ts'
import { publicationJobs, publicationReactions } from './repositories/publications/jobs.ts'
import { publicationRoutes } from './repositories/publications/routes.ts'
import { reviewedPlanJobs, reviewedPlanReactions } from './repositories/reviewed-plans/jobs.ts'
import { reviewedPlanRoutes } from './repositories/reviewed-plans/routes.ts'
import { vcsEventJobs, vcsEventRoutes } from './repositories/vcs-events/routes.ts'
import { webhookJobs, webhookReactions } from './repositories/webhooks/jobs.ts'
import { vcsRepositoryRoutes } from './repositories/webhooks/routes.ts'
import { engineResponsesRoutes } from './runs/agent-jobs/engine-response-routes.ts'
import { agentJobReactions, agentJobRoutes } from './runs/agent-jobs/routes.ts'
import { commentLoaders, commentRoutes } from './runs/comments/routes.ts'
import { configurationVersionJobs } from './runs/configuration-versions/jobs.ts'
import * as configurationVersions from './runs/configuration-versions/routes.ts'
import { identityKeyRoutes } from './runs/identity-keys/routes.ts'
import { organizationOverviewRoutes } from './runs/organization-overviews/routes.ts'
import { planJobs } from './runs/plans/jobs.ts'
import { policyInputJobs } from './runs/plans/policy-input.ts'
import { applyRoutes, phaseLoaders, planRoutes } from './runs/plans/routes.ts'
import { policyTrialReactions } from './runs/policy-trials/evaluate.ts'
import { policyTrialJobs } from './runs/policy-trials/jobs.ts'
import { policyTrialRoutes } from './runs/policy-trials/routes.ts'
import { runDeciderRoutes } from './runs/run-deciders/routes.ts'
import { runEventLoaders, runEventRoutes } from './runs/run-events/routes.ts'
import { runTriggerJobs, runTriggerReactions } from './runs/run-triggers/fire.ts'
import { runTriggerRoutes } from './runs/run-triggers/routes.ts'
import { runJobs, runReactions } from './runs/runs/jobs.ts'
import * as runs from './runs/runs/routes.ts'
import { taskStageLoaders, taskStageRoutes } from './runs/task-stages/routes.ts'
import { workloadIdentityRoutes } from './runs/workload-identity/routes.ts'
import { workspaceDeletionRoutes } from './runs/workspace-deletion/routes.ts'
import { adminOrganizationRoutes, adminUserRoutes } from './site/admin/routes.ts'
import { agentPackageRoutes } from './site/agent-package/routes.ts'
import { auditTrailJobs } from './site/audit-trail/jobs.ts'
import { auditTrailRoutes } from './site/audit-trail/routes.ts'
import { blobShardJobs } from './site/blob-shards/jobs.ts'
import { changeRoutes } from './site/changes/routes.ts'
import { discoveryRoutes } from './site/discovery/routes.ts'
import { failedJobRoutes } from './site/failed-jobs/routes.ts'
import { healthRoutes } from './site/health/routes.ts'
import { metricsRoutes } from './site/metrics/routes.ts'
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
import { gitRequestRoutes } from './tasks/task-requests/git-routes.ts'
import { gitRequestReactions } from './tasks/task-requests/git-service.ts'
import { taskRequestRoutes } from './tasks/task-requests/routes.ts'
import { taskRequestReactions } from './tasks/task-requests/service.ts'
import { taskResultJobs } from './tasks/task-results/jobs.ts'
import { taskResultLoaders, taskResultRoutes } from './tasks/task-results/routes.ts'
import { workspaceTaskLoaders, workspaceTaskRoutes } from './tasks/workspace-tasks/routes.ts'
import { githubAppInstallationRoutes } from './vcs/github-app-installations/routes.ts'
import { oauthClientLoaders, oauthClientRoutes, oauthTokenRoutes } from './vcs/oauth-clients/routes.ts'
import { sshKeyRoutes } from './vcs/ssh-keys/routes.ts'
import { teamAccessRoutes } from './workspaces/team-access/routes.ts'
import * as variableSets from './workspaces/variable-sets/routes.ts'
import { legacyVariableRoutes, variableLoaders, variableRoutes } from './workspaces/variables/routes.ts'
import * as workspaceTags from './workspaces/workspace-tags/routes.ts'
import * as workspaces from './workspaces/workspaces/routes.ts'

/** All routes of the server. */
export const ROUTES: readonly Routes[] = [
  discoveryRoutes,
  gpgKeyRoutes,
  providerProtocolRoutes,
  registryProviders.providerFileRoutes,
  registryProviders.registryProviderRoutes,
  registryProviders.registryProviderVersionRoutes,
  failedJobRoutes,
  healthRoutes,
  metricsRoutes,
  accountRoutes,
  adminOrganizationRoutes,
  adminUserRoutes,
  agentJobRoutes,
  engineResponsesRoutes,
  agentPackageRoutes,
  agentPoolRoutes,
  agentRoutes,
  agentTokenRoutes,
  authenticationTokens.anyTokenRoutes,
  applyRoutes,
  auditTrailRoutes,
  avatarRoutes,
  backingDataRoutes,
  browserRoutes,
  changeRoutes,
  commentRoutes,
  configurationVersions.configurationVersionRoutes,
  connectionRoutes,
  workspaces.consumerRoutes,
  dataRetentionRoutes,
  gitRequestRoutes,
  githubAppInstallationRoutes,
  hostRepositoryRoutes,
  identityKeyRoutes,
  memberships.membershipRoutes,
  invitationRoutes,
  oauthClientRoutes,
  oauthRoutes,
  oauthTokenRoutes,
  organizationOverviewRoutes,
  notificationConfigurationRoutes,
  notificationRoutes,
  notificationSettingsRoutes,
  organizationRoutes,
  runs.organizationRunRoutes,
  authenticationTokens.organizationTokenRoutes,
  opaVersionRoutes,
  passwordResetRoutes,
  planRoutes,
  policyRoutes,
  policySetParameterRoutes,
  policySetRoutes,
  policySetScopeRoutes,
  policySetVersionRoutes,
  policyEvaluationRoutes,
  policyRequestRoutes,
  policyTrialRoutes,
  projects.projectRoutes,
  projects.projectTagBindingRoutes,
  reservedTagKeyRoutes,
  runs.runActionRoutes,
  runs.runConfigurationRoutes,
  reviewedPlanRoutes,
  commitStatusRoutes,
  runDeciderRoutes,
  runEventRoutes,
  runs.runRoutes,
  runTriggerRoutes,
  registryModuleRoutes,
  moduleDocumentRoutes,
  publicationRoutes,
  moduleProtocolRoutes,
  moduleSearchRoutes,
  sampleRoutes,
  sessionRoutes,
  signInSettingsRoutes,
  sshKeyRoutes,
  ssoRoutes,
  stateContentRoutes,
  stateVersionDiffRoutes,
  stateVersionOutputRoutes,
  stateVersionRoutes,
  workspaceTags.tagRoutes,
  taskRequestRoutes,
  taskResultRoutes,
  taskRoutes,
  taskStageRoutes,
  teamAccessRoutes,
  teamRoutes,
  authenticationTokens.teamTokenRoutes,
  twoFactorRoutes,
  userRoutes,
  userTokenRoutes,
  vcsDeliveryRoutes,
  vcsEventRoutes,
  vcsRepositoryRoutes,
  webhookRoutes,
  legacyVariableRoutes,
  variableRoutes,
  variableSets.variableSetRoutes,
  variableSets.variableSetScopeRoutes,
  variableSets.variableSetVariableRoutes,
  workloadIdentityRoutes,
  workspaceDeletionRoutes,
  workspaces.workspaceLockRoutes,
  configurationVersions.workspaceReadmeRoutes,
  workspaceResourceRoutes,
  workspaces.workspaceRoutes,
  workspaceTags.workspaceTagBindingRoutes,
  workspaceTags.workspaceTagRoutes,
  workspaceTaskRoutes,
]

/** Reactions of features to events raised below them, in the order in which they run. */
export const REACTIONS: readonly Reaction[] = [
  ...projects.projectReactions,
  ...memberships.membershipReactions,
  ...agentReactions,
  ...taskReactions,
  ...taskRequestReactions,
  ...gitRequestReactions,
  ...policyEvaluationReactions,
  ...policyRequestReactions,
  ...stateVersionReactions,
  ...runReactions,
  ...policyTrialReactions,
  ...runTriggerReactions,
  ...agentJobReactions,
  ...usageReactions,
  ...moduleDocumentReactions,
  ...connectionReactions,
  ...reviewedPlanReactions,
  ...publicationReactions,
  ...commitStatusReactions,
  ...fetchTipReactions,
  ...firstRunReactions,
  ...pollingReactions,
  ...webhookReactions,
  ...notificationReactions,
]

/** Loaders of included resources. */
export const LOADERS: readonly Loader[] = [
  ...agentPoolLoaders,
  ...commentLoaders,
  ...configurationVersions.configurationVersionLoaders,
  ...memberships.membershipLoaders,
  ...registryProviders.registryProviderLoaders,
  ...oauthClientLoaders,
  ...policyEvaluationLoaders,
  ...organizationLoaders,
  ...phaseLoaders,
  ...policyLoaders,
  ...policySetLoaders,
  ...policySetVersionLoaders,
  ...projects.projectLoaders,
  ...runEventLoaders,
  ...runs.runLoaders,
  ...stateVersionLoaders,
  ...stateVersionOutputLoaders,
  ...taskResultLoaders,
  ...taskStageLoaders,
  ...teamLoaders,
  ...userLoaders,
  ...variableLoaders,
  ...variableSets.variableSetLoaders,
  ...vcsDeliveryLoaders,
  ...workspaces.workspaceLoaders,
  ...workspaceTags.workspaceTagLoaders,
  ...workspaceTaskLoaders,
]

/** Handlers of background jobs. */
export const JOBS: readonly JobHandler[] = [
  ...agentJobs,
  ...auditTrailJobs,
  ...blobShardJobs,
  ...commitStatusJobs,
  ...configurationVersionJobs,
  ...registryProviders.registryProviderJobs,
  ...dataRetentionJobs,
  ...mailJobs,
  ...notificationJobs,
  ...oauthJobs,
  ...passwordResetJobs,
  ...planJobs,
  ...policySetVersionJobs,
  ...policyEvaluationJobs,
  ...policyInputJobs,
  ...policyRequestJobs,
  ...policyTrialJobs,
  ...pollingJobs,
  ...reviewedPlanJobs,
  ...publicationJobs,
  ...runJobs,
  ...runTriggerJobs,
  ...moduleJobs,
  ...moduleDocumentJobs,
  ...sampleJobs,
  ...sessionJobs,
  ...stateVersionJobs,
  ...taskResultJobs,
  ...connectionJobs,
  ...vcsDeliveryExpiryJobs,
  ...fetchCommitJobs,
  ...fetchTipJobs,
  ...firstRunJobs,
  ...vcsDeliveryJobs,
  ...vcsEventJobs,
  ...webhookJobs,
]
