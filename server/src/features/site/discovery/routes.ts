import * as contract from '@groundstate/contract/discovery'
import { basePath } from '../../../http/base-path.ts'
import type { Routes } from '../../../http/http.ts'
import { json, noContent } from '../../../http/responses.ts'
import { installationHeader } from '../../../installation.ts'
import { CLI_CLIENT } from '../../identity/oauth/request.ts'

/** The paths of all services. The CLI accepts only the content type `application/json`. */
function services(base: string) {
  const api = `${base}/api/v2/`
  return {
    'tfe.v2': api,
    'tfe.v2.1': api,
    'tfe.v2.2': api,
    'state.v2': api,
    'modules.v1': `${base}/api/registry/v1/modules/`,
    'providers.v1': `${base}/api/registry/v1/providers/`,
    'login.v1': {
      client: CLI_CLIENT.id,
      grant_types: ['authz_code'],
      authz: `${base}/oauth/authorize`,
      token: `${base}/oauth/token`,
      ports: CLI_CLIENT.ports,
    },
  } satisfies contract.ServicesResponse
}

/** Empty, since a self-hosted server does not know its own addresses. */
const IP_RANGES = { api: [], notifications: [], sentinel: [], vcs: [] } satisfies contract.IpRangesResponse

const PUBLIC = { access: 'public' } as const

export const discoveryRoutes: Routes = (http) => {
  http.get(
    '/.well-known/terraform.json',
    { ...PUBLIC, summary: 'Discover the services', prefix: '', responses: { 200: contract.servicesResponse } },
    async ({ ctx }) => json(services(basePath(ctx.baseUrl))),
  )
  http.get(
    '/ip-ranges',
    { ...PUBLIC, summary: 'List IP ranges', prefix: '/api/meta', responses: { 200: contract.ipRangesResponse } },
    async () => json(IP_RANGES),
  )
  // Clients ignore status and body, and read the headers of every response. `groundstate doctor` identifies the server by it.
  http.get(
    '/ping',
    { ...PUBLIC, summary: 'Check that the server responds', responses: { 204: null } },
    async ({ ctx }) => ({ ...noContent(), headers: installationHeader(ctx.secrets) }),
  )
}
