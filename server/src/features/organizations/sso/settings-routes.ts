import { documentOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/sign-in-settings'
import type { Routes } from '../../../http/http.ts'
import { created, json, ok, unstored } from '../../../http/responses.ts'
import { testSignIn } from './check-provider.ts'
import { signInSettingsResource, signInTrialResource } from './resource.ts'
import { showSignInSettings, updateSignInSettings } from './settings-service.ts'
import { createTrial, requireTrial } from './trials.ts'

const SETTINGS = '/admin/sign-in-settings'
const ADMIN = { access: 'site-admin' } as const
const SHOWN = { ...ADMIN, responses: { 200: documentOf(contract.signInSettingsSchema) } } as const
const TRIAL = documentOf(contract.signInTrialSchema)

export const signInSettingsRoutes: Routes = (http) => {
  http.get(SETTINGS, { ...SHOWN, summary: 'Show the sign-in settings' }, async ({ ctx }) =>
    ok(signInSettingsResource(ctx, await showSignInSettings(ctx))),
  )
  http.patch(
    SETTINGS,
    {
      ...SHOWN,
      summary: 'Change the sign-in settings',
      audit: 'sign_in_settings update',
      body: contract.signInSettingsBody,
    },
    async ({ ctx, body }) => ok(signInSettingsResource(ctx, await updateSignInSettings(ctx, body.data.attributes))),
  )
  http.post(
    `${SETTINGS}/actions/test`,
    {
      ...ADMIN,
      summary: 'Test sign-in settings without saving them',
      audit: { none: 'it asks the provider and changes nothing' },
      body: contract.signInSettingsBody,
      responses: { 200: contract.signInTestSchema },
    },
    async ({ ctx, body }) => json(await testSignIn(ctx, body.data.attributes)),
  )
  http.post(
    '/admin/sign-in-trials',
    {
      ...ADMIN,
      summary: 'Prepare a trial sign-in',
      audit: { none: 'a trial changes neither accounts nor settings' },
      body: contract.signInSettingsBody,
      responses: { 201: TRIAL },
    },
    async ({ ctx, body }) => unstored(created(signInTrialResource(ctx, await createTrial(ctx, body.data.attributes)))),
  )
  http.get(
    '/admin/sign-in-trials/:trialId',
    { ...ADMIN, summary: 'Show a trial sign-in', responses: { 200: TRIAL } },
    async ({ ctx, params }) => unstored(ok(signInTrialResource(ctx, await requireTrial(ctx, params.trialId)))),
  )
}
