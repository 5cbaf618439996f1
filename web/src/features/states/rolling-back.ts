import type { DocumentOnWire } from '@groundstate/contract/answers'
import type { stateVersionSchema } from '@groundstate/contract/state-versions'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '../../api/client.ts'
import type { StateVersion } from './states.ts'

/**
 * Makes a copy of a version current. The lock of the workspace is taken for the person and released again, also after a
 * failure; a lock that they held before stays theirs.
 */
export function useRollBack({ organization, workspaceId }: { organization: string; workspaceId: string }) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ target, holdsLock }: { target: StateVersion; holdsLock: boolean }) => {
      const act = async (action: string, body = {}) =>
        request('POST', `/workspaces/${workspaceId}/actions/${action}`, body)
      if (!holdsLock) await act('lock', { reason: `rolling back to serial ${target.attributes.serial}` })
      let isLockKept = false
      const unlock = async () => {
        if (holdsLock) return
        try {
          await act('unlock')
        } catch {
          isLockKept = true
        }
      }
      try {
        const { data } = await request<DocumentOnWire<typeof stateVersionSchema>>(
          'PATCH',
          `/workspaces/${workspaceId}/state-versions`,
          {
            data: {
              type: 'state-versions',
              relationships: { 'rollback-state-version': { data: { type: 'state-versions', id: target.id } } },
            },
          },
        )
        await unlock()
        return { copy: data, isLockKept }
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
