import { DISCARDABLE_STATUSES, RUN_STATUS_TABLE, UNFINISHED_STATUSES, isEnded } from '@groundstate/contract/run-status'
import { Ban, Trash2 } from 'lucide-react'
import type { BulkAction, BulkField } from '../../../components/bulk.ts'
import { sendRunAction } from '../run.ts'
import type { ListedRun } from './runs-query.ts'

const COMMENT: BulkField = { kind: 'text', name: 'comment', label: 'Comment (optional)', maxLength: 10_000 }

function awaitsDecision({ attributes }: ListedRun) {
  return RUN_STATUS_TABLE[attributes.status].awaits === 'decision'
}

/**
 * Actions on several runs. Applying is missing on purpose: it is confirmed with the list of what the plan destroys, which
 * nobody reads for many plans at once.
 */
export const RUN_BULK_ACTIONS: readonly BulkAction<ListedRun>[] = [
  {
    label: 'Discard',
    icon: Trash2,
    about: 'The plans can then no longer be applied. Nothing will change.',
    fields: [COMMENT],
    done: 'discarded',
    candidates: {
      'filter[status]': DISCARDABLE_STATUSES.filter((status) => RUN_STATUS_TABLE[status].awaits === 'decision').join(
        ',',
      ),
    },
    obstacle: (run) => {
      const { actions, permissions, status } = run.attributes
      if (isEnded(status)) return 'already ended'
      if (!awaitsDecision(run)) return 'no plan to decide on yet: cancel it instead'
      if (!permissions['can-discard']) return 'you can’t discard it'
      return actions['is-discardable'] ? undefined : 'applied automatically: cancel it instead'
    },
    act: async ({ id }, { comment }) => sendRunAction(id, 'discard', comment?.trim() || undefined),
  },
  {
    label: 'Cancel',
    icon: Ban,
    about:
      'Queued and planning runs end without changes. An apply finishes its operations in progress and saves the state; applied changes remain.',
    fields: [COMMENT],
    done: 'canceled',
    isDestructive: true,
    candidates: {
      'filter[status]': UNFINISHED_STATUSES.filter((status) => RUN_STATUS_TABLE[status].awaits !== 'decision').join(
        ',',
      ),
    },
    obstacle: (run) => {
      const { actions, permissions, status } = run.attributes
      if (isEnded(status)) return 'already ended'
      if (awaitsDecision(run)) return 'waits for a decision: discard it instead'
      if (!permissions['can-cancel']) return 'you can’t cancel it'
      return actions['is-cancelable'] ? undefined : 'can’t be canceled in its current state'
    },
    act: async ({ id }, { comment }) => sendRunAction(id, 'cancel', comment?.trim() || undefined),
  },
]
