import type { LucideIcon } from 'lucide-react'
import { Ban, CircleCheck, CircleSlash, Clock, History, Layers, Trash2 } from 'lucide-react'
import type { Tone } from '../../components/status.tsx'
import type { StateVersion } from './states.ts'

type VersionBadge = { text: string; tone: Tone; icon: LucideIcon; title: string }

const STATUS_BADGES = {
  pending: { text: 'pending upload', tone: 'warn', icon: Clock, title: 'The upload of the state has not finished.' },
  finalized: undefined,
  discarded: {
    text: 'discarded',
    tone: 'quiet',
    icon: Ban,
    title: 'The workspace was unlocked or a newer state was stored before the upload finished.',
  },
  backing_data_soft_deleted: {
    text: 'data deleted',
    tone: 'bad',
    icon: Trash2,
    title: 'The state data was deleted and can be restored for some time.',
  },
  backing_data_permanently_deleted: {
    text: 'data permanently deleted',
    tone: 'quiet',
    icon: CircleSlash,
    title: 'The state data was permanently deleted.',
  },
} as const satisfies Record<StateVersion['attributes']['status'], VersionBadge | undefined>

export function versionBadges(version: StateVersion, currentId: string | undefined): VersionBadge[] {
  const { status, intermediate } = version.attributes
  const badges: (VersionBadge | undefined | false)[] = [
    version.id === currentId && {
      text: 'current',
      tone: 'good',
      icon: CircleCheck,
      title: 'The next run starts from this state.',
    },
    STATUS_BADGES[status],
    intermediate && {
      text: 'intermediate',
      tone: 'quiet',
      icon: Layers,
      title: 'Stored during an apply. The last one becomes current when the workspace is unlocked.',
    },
    version.relationships['rollback-state-version']?.data != null && {
      text: 'rollback',
      tone: 'accent',
      icon: History,
      title: 'Copy of an earlier state.',
    },
  ]
  return badges.filter((badge) => badge !== undefined && badge !== false)
}

/** The number of resources, or undefined if unknown. */
export function resourceCount({ attributes }: StateVersion) {
  const hasData = attributes.status !== 'pending' && attributes.status !== 'discarded'
  return hasData && attributes['resources-processed'] ? attributes['resource-count'] : undefined
}

/** The older of two versions first, and whether they were given in the opposite order. */
export function chronological(a: StateVersion, b: StateVersion) {
  const difference = Date.parse(a.attributes['created-at']) - Date.parse(b.attributes['created-at'])
  const isSwapped = difference === 0 ? a.attributes.serial > b.attributes.serial : difference > 0
  return { older: isSwapped ? b : a, newer: isSwapped ? a : b, isSwapped }
}

export function stateFileName(workspace: string, { attributes }: StateVersion) {
  return `${workspace}-${attributes.serial}.tfstate`
}

/** Compares module addresses; the root module comes first. */
export function byModule(a: string, b: string) {
  return Number(b === 'root') - Number(a === 'root') || a.localeCompare(b)
}
