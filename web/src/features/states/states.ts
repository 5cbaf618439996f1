import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { stateVersionDiffSchema } from '@groundstate/contract/state-version-diffs'
import type { stateVersionSchema } from '@groundstate/contract/state-versions'
import type { userSchema } from '@groundstate/contract/users'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, isOfScope } from '../../api/queries.ts'
import type { RunAuthor } from '../runs/run-origin.tsx'

export type StateVersion = Wire<typeof stateVersionSchema>
export type StateDiff = Wire<typeof stateVersionDiffSchema>['attributes']
type Run = Wire<typeof runSchema>
type Included = typeof runSchema | typeof userSchema

/** A state version with the run and the user that created it. */
export type AuthoredVersion = { id: string; version: StateVersion; run: Run | undefined; author: RunAuthor | undefined }

const PAGE_SIZE = 30
const INCLUDE = 'created_by,run,run.created_by'

function authored(
  versions: readonly StateVersion[],
  document: Pick<PageOnWire<typeof stateVersionSchema, Included>, 'included'>,
): AuthoredVersion[] {
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

/** A page of a workspace's versions, newest first. */
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
    placeholderData: (before, previous) => (isOfScope(previous, workspace.id) ? before : undefined),
  })
}

/** A version without its resources. Disabled while `id` is undefined. */
export function useStateVersion(id: string | undefined) {
  return useQuery({
    queryKey: ['state-versions', id],
    enabled: id !== undefined,
    queryFn: async ({ signal }) => {
      const document = await get<DocumentOnWire<typeof stateVersionSchema, Included>>(
        `/state-versions/${id}?without-resources=true&include=${INCLUDE}`,
        signal,
      )
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
    queryFn: async ({ signal }) =>
      (
        await get<DocumentOnWire<typeof stateVersionDiffSchema>>(
          `/state-versions/${to}/diff${queryString({ from })}`,
          signal,
        )
      ).data,
  })
}

type BackingDataAction = 'soft_delete_backing_data' | 'restore_backing_data' | 'permanently_delete_backing_data'

/** Deletes or restores the data of a version. */
export function useBackingData(workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ id, action }: { id: string; action: BackingDataAction }) =>
      request('POST', `/state-versions/${id}/actions/${action}`, {}),
    onSettled: async (_, __, { id }) =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['state-versions', workspaceId] }),
        queries.invalidateQueries({ queryKey: ['state-versions', id] }),
        queries.invalidateQueries({ queryKey: ['outputs', id] }),
        queries.invalidateQueries({ queryKey: ['state-diffs', workspaceId] }),
      ]),
  })
}

/**
 * Makes a copy of a version the current state. Locks the workspace for the rollback unless the user holds the lock, and
 * unlocks it even after a failure; `isStillLocked` reports that unlocking failed.
 */
export function useRollback({ organization, workspaceId }: { organization: string; workspaceId: string }) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ target, holdsLock }: { target: StateVersion; holdsLock: boolean }) => {
      const act = async (action: string, body = {}) =>
        request('POST', `/workspaces/${workspaceId}/actions/${action}`, body)
      if (!holdsLock) await act('lock', { reason: `rolling back to serial ${target.attributes.serial}` })
      const unlock = async () => {
        if (holdsLock) return true
        return act('unlock').then(
          () => true,
          () => false,
        )
      }
      try {
        const { data: copy } = await request<DocumentOnWire<typeof stateVersionSchema>>(
          'PATCH',
          `/workspaces/${workspaceId}/state-versions`,
          {
            data: {
              type: 'state-versions',
              relationships: { 'rollback-state-version': { data: { type: 'state-versions', id: target.id } } },
            },
          },
        )
        return { copy, isStillLocked: !(await unlock()) }
      } catch (error) {
        await unlock()
        throw error
      }
    },
    onSettled: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['workspaces', organization] }),
        ...['state-versions', 'outputs', 'resources'].map(async (kind) =>
          queries.invalidateQueries({ queryKey: [kind, workspaceId] }),
        ),
      ]),
  })
}
