import {
  type VcsDecisionResource,
  type VcsDeliveryResource,
  describeReason,
} from '@groundstate/contract/vcs-deliveries'
import type { DecisionReason } from '@groundstate/contract/vcs-deliveries'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import type { DecisionRow, DeliveryRow } from './store.ts'

export function deliveryResource(row: DeliveryRow): VcsDeliveryResource {
  const { event } = row
  const commit = event && commitOf(event)
  return {
    id: row.id,
    type: 'vcs-deliveries',
    attributes: {
      'received-at': row.received_at,
      'decided-at': row.decided_at,
      source: row.source,
      status: row.status,
      message: row.message,
      'repository-identifier': row.repository_identifier,
      kind: event?.kind ?? null,
      title: event ? titleOf(event) : (row.message ?? ''),
      'commit-sha': commit?.sha ?? null,
      'commit-url': commit?.url || null,
      'sender-username': event?.sender.username || null,
      'run-count': row.run_count,
      'publication-count': row.publication_count,
      'skip-count': row.skip_count,
    },
    relationships: {
      'oauth-client': {
        data: row.oauth_client_id === null ? null : { id: row.oauth_client_id, type: 'oauth-clients' },
      },
    },
    links: { self: `/api/v2/vcs-deliveries/${row.id}` },
  }
}

function commitOf(event: HostEvent) {
  return event.kind === 'pull-request' ? event.pullRequest.head : event.commit
}

/** Summarizes an event in a few words. */
export function titleOf(event: HostEvent) {
  switch (event.kind) {
    case 'push':
      return event.commit === null ? `branch ${event.branch} deleted` : `push to ${event.branch}`
    case 'tag':
      return event.commit === null ? `tag ${event.tag} deleted` : `tag ${event.tag}`
    case 'pull-request':
      return `pull request #${event.pullRequest.number} ${event.action}`
  }
}

export function decisionResource(row: DecisionRow): VcsDecisionResource {
  return {
    id: `${row.delivery_id}.${row.workspace_id}`,
    type: 'vcs-decisions',
    attributes: {
      decision: row.decision,
      reason: row.reason as DecisionReason,
      description: describeReason(row.reason as DecisionReason, row.detail),
    },
    relationships: {
      delivery: { data: { id: row.delivery_id, type: 'vcs-deliveries' } },
      workspace: { data: { id: row.workspace_id, type: 'workspaces' } },
      run: { data: row.run_id === null ? null : { id: row.run_id, type: 'runs' } },
    },
  }
}
