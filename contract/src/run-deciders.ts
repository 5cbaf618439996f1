import { type Written, hasMany, resource } from './responses.ts'

/** Who can unblock a run: the teams that the caller sees whose members may do so. The id is that of the run. */
export const runDecidersSchema = resource(
  'run-deciders',
  {
    relationships: {
      'may-apply': hasMany('teams').describe('whose members may confirm the run, or discard it'),
      'may-override': hasMany('teams').describe('whose members may override a failed mandatory task'),
      'may-force-unlock': hasMany('teams').describe('whose members may release the lock of somebody else'),
    },
  },
  'RunDeciders',
)
export type RunDecidersResource = Written<typeof runDecidersSchema>
