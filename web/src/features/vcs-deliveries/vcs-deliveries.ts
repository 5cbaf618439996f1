import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { vcsDecisionSchema, vcsDeliverySchema } from '@groundstate/contract/vcs-deliveries'
import type { vcsPublicationSchema } from '@groundstate/contract/vcs-publications'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, useChange } from '../../api/queries.ts'

export type Delivery = Wire<typeof vcsDeliverySchema>
export type Publication = Wire<typeof vcsPublicationSchema>
export type DecisionAttributes = Wire<typeof vcsDecisionSchema>['attributes']

type Included = typeof vcsDeliverySchema | typeof workspaceSchema | typeof runSchema
type DecisionPage = PageOnWire<typeof vcsDecisionSchema, Included>

/** The type of all queries about deliveries; their scope is the organization. */
const DELIVERIES = 'vcs-deliveries'

export type DeliverySearch = {
  status?: string | undefined
  repository?: string | undefined
  page?: number | undefined
}

export function useDeliveries(organization: string, connectionId: string, search: DeliverySearch) {
  const query = queryString({
    'filter[oauth-client]': connectionId,
    'filter[status]': search.status,
    'filter[repository]': search.repository,
    'page[number]': search.page,
  })
  return useQuery({
    queryKey: [DELIVERIES, organization, 'list', query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof vcsDeliverySchema>>(`/organizations/${organization}/vcs-deliveries${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** A delivery that a link names, which may be on another page of the list. */
export function useDelivery(organization: string, id: string | undefined) {
  return useQuery({
    queryKey: [DELIVERIES, organization, id],
    enabled: id !== undefined,
    queryFn: async ({ signal }) => getData<DocumentOnWire<typeof vcsDeliverySchema>>(`/vcs-deliveries/${id}`, signal),
  })
}

/** The decisions of a delivery, with the workspaces and runs that the user may see. */
export function useDecisions(organization: string, deliveryId: string, page: number | undefined) {
  const query = queryString({ include: 'workspace,run', 'page[number]': page })
  return useQuery({
    queryKey: [DELIVERIES, organization, deliveryId, 'decisions', query],
    meta: { dependsOn: ['runs'] },
    queryFn: async ({ signal }) =>
      shown(await get<DecisionPage>(`/vcs-deliveries/${deliveryId}/decisions${query}`, signal)),
    placeholderData: keepWithin(organization),
  })
}

/** The versions of modules and policy sets that a delivery published, and why not others. */
export function usePublications(organization: string, deliveryId: string, page: number | undefined) {
  const query = queryString({ 'page[number]': page })
  return useQuery({
    queryKey: [DELIVERIES, organization, deliveryId, 'publications', query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof vcsPublicationSchema>>(`/vcs-deliveries/${deliveryId}/publications${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** A module or a policy set that follows a repository: its path in the API, and the type and scope of queries about it. */
export type Published = { path: string; type: string; scope: string }

/** The publications of a module or a policy set, the latest first. */
export function usePublicationsOf({ path, type, scope }: Published, page: number | undefined) {
  const query = queryString({ 'page[number]': page, 'page[size]': 10 })
  return useQuery({
    queryKey: [type, scope, 'publications', path, query],
    queryFn: async ({ signal }) => get<PageOnWire<typeof vcsPublicationSchema>>(`${path}/publications${query}`, signal),
    placeholderData: keepWithin(scope),
  })
}

/** The decisions about a workspace, the newest first. */
export function useWorkspaceDecisions(organization: string, workspaceId: string, page: number | undefined) {
  const query = queryString({ include: 'delivery,run', 'page[number]': page })
  return useQuery({
    queryKey: [DELIVERIES, organization, workspaceId, query],
    meta: { dependsOn: ['runs'] },
    queryFn: async ({ signal }) =>
      shown(await get<DecisionPage>(`/workspaces/${workspaceId}/vcs-decisions${query}`, signal)),
    placeholderData: keepWithin(organization),
  })
}

function shown(document: DecisionPage) {
  const included = includedOf(document)
  const rows = document.data.map(({ id, attributes, relationships }) => ({
    id,
    attributes,
    delivery: included.one('vcs-deliveries', relationships.delivery),
    workspace: included.one('workspaces', relationships.workspace)?.attributes.name,
    run: included.one('runs', relationships.run),
  }))
  return { rows, pagination: document.meta.pagination }
}
export type ShownDecision = ReturnType<typeof shown>['rows'][number]

/** Has a delivery decided again, as a new delivery. */
export function useReplay(organization: string) {
  return useChange(
    async (id: string) => request('POST', `/vcs-deliveries/${id}/actions/replay`),
    [DELIVERIES, organization],
  )
}
