import type { LucideIcon } from 'lucide-react'
import { Ban, CircleCheck, CircleSlash, Clock, History, Layers, Trash2 } from 'lucide-react'
import type { Tone } from '../../components/status.tsx'
import type { StateVersion } from './states.ts'

export type Mark = { text: string; tone: Tone; icon: LucideIcon; title: string }

const STATUSES = {
  pending: { text: 'awaits its content', tone: 'warn', icon: Clock, title: 'The upload of the state has not ended.' },
  finalized: undefined,
  discarded: {
    text: 'discarded',
    tone: 'quiet',
    icon: Ban,
    title: 'No content came before the lock was opened or a newer state was stored.',
  },
  backing_data_soft_deleted: {
    text: 'data deleted',
    tone: 'bad',
    icon: Trash2,
    title: 'Its content can’t be read. It can be restored for a while.',
  },
  backing_data_permanently_deleted: {
    text: 'data gone',
    tone: 'quiet',
    icon: CircleSlash,
    title: 'Its content was deleted for good.',
  },
} as const satisfies Record<StateVersion['attributes']['status'], Mark | undefined>

/** What is to know of a version at first sight, in words. */
export function marksOf(version: StateVersion, currentId: string | undefined): Mark[] {
  const { status, intermediate } = version.attributes
  const marks: (Mark | undefined | false)[] = [
    version.id === currentId && {
      text: 'current',
      tone: 'good',
      icon: CircleCheck,
      title: 'The next run starts from this state.',
    },
    STATUSES[status],
    intermediate && {
      text: 'snapshot',
      tone: 'quiet',
      icon: Layers,
      title: 'Stored while the engine applied. The last one becomes current when the workspace is unlocked.',
    },
    version.relationships['rollback-state-version']?.data != null && {
      text: 'rollback',
      tone: 'accent',
      icon: History,
      title: 'A copy of an earlier state.',
    },
  ]
  return marks.filter((mark) => mark !== undefined && mark !== false)
}

/** How many resources a version has; undefined while that is not known. */
export function resourceCount({ attributes }: StateVersion) {
  const hasContent = attributes.status !== 'pending' && attributes.status !== 'discarded'
  return hasContent && attributes['resources-processed'] ? attributes['resource-count'] : undefined
}

/** The older of two versions first, with whether they were the other way round. */
export function inOrder(a: StateVersion, b: StateVersion) {
  const isSwapped = isNewer(a, b)
  return { older: isSwapped ? b : a, newer: isSwapped ? a : b, isSwapped }
}

function isNewer(a: StateVersion, b: StateVersion) {
  const apart = new Date(a.attributes['created-at']).getTime() - new Date(b.attributes['created-at']).getTime()
  return apart === 0 ? a.attributes.serial > b.attributes.serial : apart > 0
}

/** The name of the file that a version is saved as. */
export function fileName(workspace: string, { attributes }: StateVersion) {
  return `${workspace}-${attributes.serial}.tfstate`
}
