import type { IpRangesAnswer, ServicesAnswer } from '@groundstate/contract/discovery'
import { json, noContent } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { CLI_CLIENT } from '../../identity/oauth/request.ts'

/** Where the command lines find everything; they insist on exactly `application/json` here. */
const SERVICES = {
  'tfe.v2': '/api/v2/',
  'tfe.v2.1': '/api/v2/',
  'tfe.v2.2': '/api/v2/',
  'state.v2': '/api/v2/',
  'login.v1': {
    client: CLI_CLIENT.id,
    grant_types: ['authz_code'],
    authz: '/oauth/authorize',
    token: '/oauth/token',
    ports: CLI_CLIENT.ports,
  },
} satisfies ServicesAnswer

/** By purpose. Where a server that people run themselves sits, and what leaves with which address, it does not know. */
const IP_RANGES = { api: [], notifications: [], sentinel: [], vcs: [] } satisfies IpRangesAnswer

export const discoveryRoutes: Routes = (http) => {
  http.get('/.well-known/terraform.json', { access: 'public', prefix: '' }, async () => json(SERVICES))

  http.get('/ip-ranges', { access: 'public', prefix: '/api/meta' }, async () => json(IP_RANGES))

  // Its status and body are ignored by clients, which read the headers that every response carries.
  http.get('/ping', { access: 'public' }, async () => noContent())
}
