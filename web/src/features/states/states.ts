import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { stateVersionDiffSchema } from '@groundstate/contract/state-version-diffs'
import type { stateVersionSchema } from '@groundstate/contract/state-versions'
import type { userSchema } from '@groundstate/contract/users'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Ban, CircleCheck, CircleSlash, Clock, History, Layers, Trash2 } from 'lucide-react'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, invalidate, keepWithin } from '../../api/queries.ts'
import type { StatusStyle } from '../../components/status.tsx'
import type { RunAuthor } from '../runs/run-origin.tsx'

export type StateVersion = Wire<typeof stateVersionSchema>
export type StateDiff = Wire<typeof stateVersionDiffSchema>['attributes']
type Run = Wire<typeof runSchema>
type Included = typeof runSchema | typeof userSchema

export type AuthoredVersion = { id: string; version: StateVersion; run: Run | undefined; author: RunAuthor | undefined }

const PAGE_SIZE = 30
const INCLUDE = 'created_by,run,run.created_by'

type IncludedResources = Pick<PageOnWire<typeof stateVersionSchema, Included>, 'included'>

function authored(versions: readonly StateVersion[], document: IncludedResources): AuthoredVersion[] {
  const included = includedOf(document)
  return versions.map((version) => {
    const run = included.one('runs', version.relationships.run)
    return {
      id: version.id,
      version,
      run,
      // The states of a run belong to the run's service user.
      author: included.one('users', run ? run.relationships['created-by'] : version.relationships['created-by']),
    }
  })
}

export function useStateVersions(workspace: { id: string; organization: string; name: string }, page: number) {
  const query = queryString({
    'filter[organization][name]': workspace.organization,
    'filter[workspace][name]': workspace.name,
    'page[number]': page,
    'page[size]': PAGE_SIZE,
    'without-resources': 'true',
    include: INCLUDE,
  })
  return useQuery({
    queryKey: ['state-versions', workspace.id, 'list', query],
    queryFn: async ({ signal }) => {
      const document = await get<PageOnWire<typeof stateVersionSchema, Included>>(`/state-versions${query}`, signal)
      return { rows: authored(document.data, document), pagination: document.meta.pagination }
    },
    placeholderData: keepWithin(workspace.id),
  })
}

/** A version without its resources. Disabled while `id` is undefined. */
export function useStateVersion(id: string | undefined) {
  return useQuery({
    queryKey: ['state-versions', id],
    enabled: id !== undefined,
    // The download URL expires after ten minutes.
    refetchInterval: 300_000,
    queryFn: async ({ signal }) => {
      const path = `/state-versions/${id}?without-resources=true&include=${INCLUDE}`
      const document = await get<DocumentOnWire<typeof stateVersionSchema, Included>>(path, signal)
      return authored([document.data], document)[0]
    },
  })
}

/** The resources of a version; several megabytes for a large state. */
export function useVersionResources(id: string) {
  return useQuery({
    queryKey: ['state-versions', id, 'resources'],
    queryFn: async ({ signal }) =>
      (await get<DocumentOnWire<typeof stateVersionSchema>>(`/state-versions/${id}`, signal)).data.attributes.resources,
  })
}

/** Versions are immutable, but their data may be deleted. */
const DIFF_STALE_MS = 600_000

/** The changes between two versions; `from` defaults to the previous one. Disabled while `to` is undefined. */
export function useStateDiff(workspaceId: string, { from, to }: { from: string | undefined; to: string | undefined }) {
  return useQuery({
    queryKey: ['state-diffs', workspaceId, from, to],
    enabled: to !== undefined,
    staleTime: DIFF_STALE_MS,
    queryFn: async ({ signal }) => {
      const path = `/state-versions/${to}/diff${queryString({ from })}`
      return (await get<DocumentOnWire<typeof stateVersionDiffSchema>>(path, signal)).data
    },
  })
}

type BackingDataAction = 'soft_delete_backing_data' | 'restore_backing_data' | 'permanently_delete_backing_data'

export function useBackingData(workspaceId: string) {
  return useMutation({
    mutationFn: async ({ id, action }: { id: string; action: BackingDataAction }) =>
      request('POST', `/state-versions/${id}/actions/${action}`, {}),
    onSettled: async (_, __, { id }) =>
      invalidate(
        ...['state-versions', 'outputs', 'state-diffs'].flatMap((type) => [
          [type, id],
          [type, workspaceId],
        ]),
      ),
  })
}

/** Makes a copy of a version the current state, under a lock that is released even after a failure. */
export function useRollback({ organization, workspaceId }: { organization: string; workspaceId: string }) {
  return useMutation({
    mutationFn: async ({ target, holdsLock }: { target: StateVersion; holdsLock: boolean }) => {
      const act = async (action: string, body = {}) =>
        request('POST', `/workspaces/${workspaceId}/actions/${action}`, body)
      if (!holdsLock) await act('lock', { reason: `rolling back to serial ${target.attributes.serial}` })
      const original = { data: { type: 'state-versions', id: target.id } }
      const body = { data: { type: 'state-versions', relationships: { 'rollback-state-version': original } } }
      const path = `/workspaces/${workspaceId}/state-versions`
      const copying = request<DocumentOnWire<typeof stateVersionSchema>>('PATCH', path, body)
      await Promise.allSettled([copying])
      const [unlocking] = await Promise.allSettled(holdsLock ? [] : [act('unlock')])
      return { copy: (await copying).data, isStillLocked: unlocking?.status === 'rejected' }
    },
    onSettled: async () =>
      invalidate(
        ['workspaces', organization],
        ...['state-versions', 'outputs', 'resources'].map((kind) => [kind, workspaceId]),
      ),
  })
}

type VersionBadge = StatusStyle & { text: string; title?: string }

const STATUS_BADGES = {
  pending: { text: 'pending upload', tone: 'warn', icon: Clock, title: 'The upload of the state has not finished.' },
  finalized: undefined,
  discarded: { text: 'discarded', tone: 'quiet', icon: Ban, title: 'Superseded before its upload finished.' },
  backing_data_soft_deleted: {
    text: 'data deleted',
    tone: 'bad',
    icon: Trash2,
    title: 'Can be restored for some time.',
  },
  backing_data_permanently_deleted: { text: 'data permanently deleted', tone: 'quiet', icon: CircleSlash },
} as const satisfies Record<StateVersion['attributes']['status'], VersionBadge | undefined>

/** The badges of a version; `original` is the one that it copies, if known. */
export function versionBadges(version: StateVersion, currentId: string | undefined, original?: StateVersion) {
  const { status, intermediate } = version.attributes
  const badges: (VersionBadge | undefined | false)[] = [
    version.id === currentId && { text: 'current', tone: 'good', icon: CircleCheck, title: 'Used by the next run.' },
    STATUS_BADGES[status],
    intermediate && { text: 'intermediate', tone: 'quiet', icon: Layers, title: 'Stored during an apply.' },
    version.relationships['rollback-state-version']?.data != null && {
      text: original ? `copy of serial ${original.attributes.serial}` : 'rollback',
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

/** The older of two versions first, and whether `a` is the newer one. */
export function chronological(a: StateVersion, b: StateVersion) {
  const difference = Date.parse(a.attributes['created-at']) - Date.parse(b.attributes['created-at'])
  const isSwapped = difference === 0 ? a.attributes.serial > b.attributes.serial : difference > 0
  return { older: isSwapped ? b : a, newer: isSwapped ? a : b, isSwapped }
}
