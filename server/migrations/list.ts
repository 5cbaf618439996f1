import * as accounts from './0001-accounts.ts'
import * as workspaces from './0002-workspaces.ts'
import * as tagsAndCounts from './0010-tags-and-counts.ts'
import * as variables from './0011-variables.ts'
import * as runs from './0020-runs.ts'
import * as agents from './0021-agents.ts'
import * as stateVersions from './0030-state-versions.ts'
import * as runTasks from './0040-run-tasks.ts'
import * as accountSecurity from './0050-accounts.ts'
import * as teams from './0060-teams.ts'
import * as auditTrail from './0061-audit-trail.ts'
import * as heldStages from './0062-held-stages.ts'
import * as unconfirmedAddresses from './0063-unconfirmed-addresses.ts'
import * as sessionIdleness from './0064-session-idleness.ts'
import * as requiredEngines from './0065-required-engines.ts'
import * as installation from './0066-installation.ts'
import * as taskTokens from './0067-task-tokens.ts'
import * as teamDescriptions from './0068-team-descriptions.ts'
import * as runTokens from './0069-run-tokens.ts'
import * as runTriggers from './0070-run-triggers.ts'
import * as lostJobs from './0071-lost-jobs.ts'
import * as agentFacts from './0072-agent-facts.ts'
import * as queue from './0073-queue.ts'
import * as taskRequests from './0074-task-requests.ts'
import * as receipts from './0075-receipts.ts'
import * as uploads from './0076-uploads.ts'
import * as engineNames from './0077-engine-names.ts'
import * as blobStore from './0078-blob-store.ts'
import * as privateDeliveries from './0079-private-deliveries.ts'
import * as workspaceFacts from './0080-workspace-facts.ts'
import * as keyBindings from './0081-key-bindings.ts'
import * as userTokens from './0082-user-tokens.ts'
import * as validSources from './0083-valid-sources.ts'
import * as latestChanges from './0084-latest-changes.ts'
import * as workspaceKpis from './0085-workspace-kpis.ts'
import * as signInPlaces from './0086-sign-in-places.ts'
import * as workspaceGroups from './0088-workspace-groups.ts'
import * as samples from './0089-samples.ts'
import * as currentRunGroups from './0090-current-run-groups.ts'
import * as failedRuns from './0091-failed-runs.ts'
import * as resourceLists from './0092-resource-lists.ts'
import * as owedDocuments from './0094-owed-documents.ts'
import * as configurationDigests from './0096-configuration-digests.ts'
import * as runKeys from './0100-run-keys.ts'
import * as keysOfEarlierRuns from './0101-keys-of-earlier-runs.ts'
import * as runLists from './0102-run-lists.ts'
import * as retention from './0103-retention.ts'
import * as retentionOfPlans from './0104-retention-of-plans.ts'
import * as retentionOfTasks from './0105-retention-of-tasks.ts'
import * as queueIndices from './0109-queue-indices.ts'
import * as runFilters from './0113-run-filters.ts'
import * as workspaceKeys from './0118-workspace-keys.ts'
import * as auditDays from './0119-audit-days.ts'
import * as queuedEngines from './0120-queued-engines.ts'
import * as workspaceOrder from './0121-workspace-order.ts'

/**
 * A batched migration is one statement that changes some of the rows that need it: it is repeated until it changes none, so that
 * servers at work wait for a few rows at a time.
 */
export type Migration = { name: string; up: string; isBatched?: true }

/** In the order in which they run. Append-only: a migration that has landed never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-accounts', up: accounts.up },
  { name: '0002-workspaces', up: workspaces.up },
  { name: '0010-tags-and-counts', up: tagsAndCounts.up },
  { name: '0011-variables', up: variables.up },
  { name: '0020-runs', up: runs.up },
  { name: '0021-agents', up: agents.up },
  { name: '0030-state-versions', up: stateVersions.up },
  { name: '0040-run-tasks', up: runTasks.up },
  { name: '0050-accounts', up: accountSecurity.up },
  { name: '0060-teams', up: teams.up },
  { name: '0061-audit-trail', up: auditTrail.up },
  { name: '0062-held-stages', up: heldStages.up },
  { name: '0063-unconfirmed-addresses', up: unconfirmedAddresses.up },
  { name: '0064-session-idleness', up: sessionIdleness.up },
  { name: '0065-required-engines', up: requiredEngines.up },
  { name: '0066-installation', up: installation.up },
  { name: '0067-task-tokens', up: taskTokens.up },
  { name: '0068-team-descriptions', up: teamDescriptions.up },
  { name: '0069-run-tokens', up: runTokens.up },
  { name: '0070-run-triggers', up: runTriggers.up },
  { name: '0071-lost-jobs', up: lostJobs.up },
  { name: '0072-agent-facts', up: agentFacts.up },
  { name: '0073-queue', up: queue.up },
  { name: '0074-task-requests', up: taskRequests.up },
  { name: '0075-receipts', up: receipts.up },
  { name: '0076-uploads', up: uploads.up },
  { name: '0077-engine-names', up: engineNames.up },
  { name: '0078-blob-store', up: blobStore.up },
  { name: '0079-private-deliveries', up: privateDeliveries.up },
  { name: '0080-workspace-facts', up: workspaceFacts.up },
  { name: '0081-key-bindings', up: keyBindings.up },
  { name: '0082-user-tokens', up: userTokens.up },
  { name: '0083-valid-sources', up: validSources.up },
  { name: '0084-latest-changes', up: latestChanges.up, isBatched: true },
  { name: '0085-workspace-kpis', up: workspaceKpis.up, isBatched: true },
  { name: '0086-sign-in-places', up: signInPlaces.up },
  { name: '0088-workspace-groups', up: workspaceGroups.up },
  { name: '0089-samples', up: samples.up },
  { name: '0090-current-run-groups', up: currentRunGroups.up, isBatched: true },
  { name: '0091-failed-runs', up: failedRuns.up },
  { name: '0092-resource-lists', up: resourceLists.up },
  { name: '0094-owed-documents', up: owedDocuments.up },
  { name: '0096-configuration-digests', up: configurationDigests.up },
  { name: '0100-run-keys', up: runKeys.up },
  { name: '0101-keys-of-earlier-runs', up: keysOfEarlierRuns.up },
  { name: '0102-run-lists', up: runLists.up },
  { name: '0103-retention', up: retention.up },
  { name: '0104-retention-of-plans', up: retentionOfPlans.up },
  { name: '0105-retention-of-tasks', up: retentionOfTasks.up },
  { name: '0109-queue-indices', up: queueIndices.up },
  { name: '0113-run-filters', up: runFilters.up },
  { name: '0118-workspace-keys', up: workspaceKeys.up },
  { name: '0119-audit-days', up: auditDays.up },
  { name: '0120-queued-engines', up: queuedEngines.up },
  { name: '0121-workspace-order', up: workspaceOrder.up },
]
