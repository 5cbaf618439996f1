import * as identity from './0001-identity.ts'
import * as organizations from './0002-organizations.ts'
import * as workspaces from './0003-workspaces.ts'
import * as states from './0004-states.ts'
import * as agents from './0005-agents.ts'
import * as tasks from './0006-tasks.ts'
import * as runs from './0007-runs.ts'
import * as site from './0008-site.ts'
import * as machinery from './0009-machinery.ts'
import * as standardNames from './0010-standard-names.ts'
import * as unusedColumns from './0011-unused-columns.ts'
import * as signIn from './0012-sign-in.ts'
import * as variableKeys from './0013-variable-keys.ts'
import * as oneTimeLinks from './0014-one-time-links.ts'
import * as signInSettings from './0015-sign-in-settings.ts'
import * as auditFilters from './0016-audit-filters.ts'
import * as avatars from './0017-avatars.ts'
import * as registeredAgents from './0018-registered-agents.ts'
import * as outcomeLevels from './0019-outcome-levels.ts'
import * as taskDeliveries from './0020-task-deliveries.ts'
import * as formerValues from './0021-former-values.ts'
import * as repositories from './0022-repositories.ts'
import * as poolRequests from './0023-pool-requests.ts'
import * as fetches from './0024-fetches.ts'
import * as repositoryPolling from './0025-repository-polling.ts'
import * as connections from './0026-connections.ts'
import * as reviews from './0027-reviews.ts'
import * as commitSearch from './0028-commit-search.ts'
import * as repositoryProblems from './0029-repository-problems.ts'
import * as identityKeys from './0030-identity-keys.ts'
import * as notifications from './0031-notifications.ts'
import * as notifiedInvitations from './0032-notified-invitations.ts'
import * as commitStatusQueue from './0033-commit-status-queue.ts'
import * as identityIssuer from './0034-identity-issuer.ts'
import * as registryModules from './0035-registry-modules.ts'
import * as registryProviders from './0036-registry-providers.ts'
import * as policies from './0037-policies.ts'
import * as policyEvaluations from './0038-policy-evaluations.ts'
import * as publications from './0039-publications.ts'
import * as moduleDocuments from './0040-module-documents.ts'
import * as policyTrials from './0041-policy-trials.ts'
import * as providerUses from './0042-provider-uses.ts'
import * as providerTags from './0043-provider-tags.ts'
import * as secretRotation from './0044-secret-rotation.ts'
import * as servers from './0045-servers.ts'
import * as runTraces from './0046-run-traces.ts'
import * as otherProviders from './0047-other-providers.ts'
import * as blobMoves from './0048-blob-moves.ts'
import * as workspaceProviders from './0049-workspace-providers.ts'

/**
 * A batched migration is one statement that changes some rows and is repeated until it changes none, so that running
 * servers wait for few rows at a time.
 *
 * Servers of the previous release run with a migration, unless `requires` names an earlier migration: servers that do not know that one
 * still use what this one removes. See docs/decisions/rolling-upgrade.md.
 */
export type Migration = { name: string; up: string; isBatched?: true; requires?: string }

/** In order of execution. Append-only: a released migration never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-identity', up: identity.up },
  { name: '0002-organizations', up: organizations.up },
  { name: '0003-workspaces', up: workspaces.up },
  { name: '0004-states', up: states.up },
  { name: '0005-agents', up: agents.up },
  { name: '0006-tasks', up: tasks.up },
  { name: '0007-runs', up: runs.up },
  { name: '0008-site', up: site.up },
  { name: '0009-machinery', up: machinery.up },
  { name: '0010-standard-names', up: standardNames.up },
  { name: '0011-unused-columns', up: unusedColumns.up },
  { name: '0012-sign-in', up: signIn.up },
  { name: '0013-variable-keys', up: variableKeys.up },
  { name: '0014-one-time-links', up: oneTimeLinks.up },
  { name: '0015-sign-in-settings', up: signInSettings.up },
  { name: '0016-audit-filters', up: auditFilters.up },
  { name: '0017-avatars', up: avatars.up },
  { name: '0018-registered-agents', up: registeredAgents.up },
  { name: '0019-outcome-levels', up: outcomeLevels.up },
  { name: '0020-task-deliveries', up: taskDeliveries.up },
  { name: '0021-former-values', up: formerValues.up },
  { name: '0022-repositories', up: repositories.up },
  { name: '0023-pool-requests', up: poolRequests.up },
  { name: '0024-fetches', up: fetches.up },
  { name: '0025-repository-polling', up: repositoryPolling.up },
  { name: '0026-connections', up: connections.up },
  { name: '0027-reviews', up: reviews.up },
  { name: '0028-commit-search', up: commitSearch.up },
  { name: '0029-repository-problems', up: repositoryProblems.up },
  { name: '0030-identity-keys', up: identityKeys.up },
  { name: '0031-notifications', up: notifications.up },
  { name: '0032-notified-invitations', up: notifiedInvitations.up },
  { name: '0033-commit-status-queue', up: commitStatusQueue.up },
  { name: '0034-identity-issuer', up: identityIssuer.up },
  { name: '0035-registry-modules', up: registryModules.up },
  { name: '0036-registry-providers', up: registryProviders.up },
  { name: '0037-policies', up: policies.up },
  { name: '0039-publications', up: publications.up },
  { name: '0038-policy-evaluations', up: policyEvaluations.up },
  { name: '0040-module-documents', up: moduleDocuments.up },
  { name: '0041-policy-trials', up: policyTrials.up },
  { name: '0042-provider-uses', up: providerUses.up },
  { name: '0043-provider-tags', up: providerTags.up },
  { name: '0044-secret-rotation', up: secretRotation.up },
  { name: '0045-servers', up: servers.up },
  { name: '0046-run-traces', up: runTraces.up },
  { name: '0047-other-providers', up: otherProviders.up },
  { name: '0048-blob-moves', up: blobMoves.up },
  { name: '0049-workspace-providers', up: workspaceProviders.up },
]
