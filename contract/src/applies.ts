import { z } from 'zod'
import { phaseAttributes } from './plans.ts'
import { type Written, hasMany, resource } from './responses.ts'

export const applySchema = resource(
  'applies',
  {
    attributes: {
      ...phaseAttributes,
      'action-invocations': z.null(),
      'action-failures': z.null(),
    },
    relationships: {
      'state-versions': hasMany('state-versions').describe('the state versions that the apply created'),
    },
    links: { self: z.string() },
  },
  'Apply',
)
export type ApplyResource = Written<typeof applySchema>

/** The state that the engine could not store at the end of an apply, in the engine's format. */
export const erroredStateResponse = z.record(z.string(), z.json()).meta({ id: 'ErroredState' })
