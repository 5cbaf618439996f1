import {
  type IpRangesResponse,
  type ServicesResponse,
  ipRangesResponse,
  servicesResponse,
} from '@groundstate/contract/discovery'
import { basePath } from '../../../http/base-path.ts'
import type { Routes } from '../../../http/http.ts'
import { json, noContent } from '../../../http/responses.ts'
import { installationHeader } from '../../../installation.ts'
import { CLI_CLIENT } from '../../identity/oauth/request.ts'

/** The paths of all services. The command lines accept only the content type `application/json` here. */
function services(base: string) {
  const api = `${base}/api/v2/`
  return {
    'tfe.v2': api,
    'tfe.v2.1': api,
    'tfe.v2.2': api,
    'state.v2': api,
    'login.v1': {
      client: CLI_CLIENT.id,
      grant_types: ['authz_code'],
      authz: `${base}/oauth/authorize`,
      token: `${base}/oauth/token`,
      ports: CLI_CLIENT.ports,
    },
  } satisfies ServicesResponse
}

/** Empty, since a self-hosted server does not know its own addresses. */
const IP_RANGES = { api: [], notifications: [], sentinel: [], vcs: [] } satisfies IpRangesResponse

const DISCOVER = {
  summary: 'Discover the services',
  access: 'public',
  prefix: '',
  responses: { 200: servicesResponse },
} as const
const LIST_IP_RANGES = {
  summary: 'List IP ranges',
  access: 'public',
  prefix: '/api/meta',
  responses: { 200: ipRangesResponse },
} as const
const PING = { summary: 'Check that the server answers', access: 'public', responses: { 204: null } } as const

export const discoveryRoutes: Routes = (http) => {
  http.get('/.well-known/terraform.json', DISCOVER, async ({ ctx }) => json(services(basePath(ctx.baseUrl))))

  http.get('/ip-ranges', LIST_IP_RANGES, async () => json(IP_RANGES))

  // Clients ignore status and body. They read the headers that every response has. `groundstate doctor` reads whose server it is.
  http.get('/ping', PING, async ({ ctx }) => ({ ...noContent(), headers: installationHeader(ctx.secrets) }))
}
