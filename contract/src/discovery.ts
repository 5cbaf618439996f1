import { z } from 'zod'
import type { Written } from './responses.ts'

/** The service discovery document of the command lines. */
export const servicesResponse = z.strictObject({
  'tfe.v2': z.string(),
  'tfe.v2.1': z.string(),
  'tfe.v2.2': z.string(),
  'state.v2': z.string(),
  'login.v1': z.strictObject({
    client: z.string(),
    grant_types: z.array(z.literal('authz_code')),
    authz: z.string(),
    token: z.string(),
    ports: z
      .tuple([z.int(), z.int()])
      .readonly()
      .describe('the first and the last port on which a command line may wait for its code'),
  }),
})
export type ServicesResponse = Written<typeof servicesResponse>

const ranges = z.array(z.string()).describe('always empty: a self-hosted server does not know its addresses')

export const ipRangesResponse = z.strictObject({ api: ranges, notifications: ranges, sentinel: ranges, vcs: ranges })
export type IpRangesResponse = Written<typeof ipRangesResponse>
