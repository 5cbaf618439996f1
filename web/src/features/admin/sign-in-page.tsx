import type { SignInInput } from '@groundstate/contract/sign-in-settings'
import { getRouteApi } from '@tanstack/react-router'
import { serverPath } from '../../api/base.ts'
import { errorOf } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice, loaded } from '../../components/feedback.tsx'
import { CODE_INPUT, CheckField, TextField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { TestResult } from './sign-in-test.tsx'
import { type SignInSettings, createTrial, useSignInSettings, useTestSignIn, useUpdateSignIn } from './sign-in.ts'
import { TrialCard } from './trial-card.tsx'

const route = getRouteApi('/frame/app/admin/sign-in')

/** Sign-in to this server. `trial` in the address is the trial sign-in that is shown. */
export function SiteSignInPage() {
  const { data: settings, fallback } = loaded(useSignInSettings(), { rows: 8 })
  const { trial } = route.useSearch()
  return (
    <Page
      title="Sign-in"
      about={
        <>
          Users sign in with a password, an OpenID Connect provider, or either.{' '}
          <DocsLink page="sign-in" anchor="sign-in-with-your-identity-provider">
            Set up a provider
          </DocsLink>
        </>
      }
      actions={<CopyCurl path="/admin/sign-in-settings" />}
    >
      {!settings && fallback}
      {settings && (
        <div className="grid gap-4">
          <Provider settings={settings} />
          {trial !== undefined && <TrialCard id={trial} />}
          <Passwords settings={settings} />
        </div>
      )}
    </Page>
  )
}

const NAMES = ['issuer', 'client-id', 'client-secret', 'name', 'scopes', 'group-claim'] as const

function Provider({ settings }: { settings: SignInSettings }) {
  const navigate = route.useNavigate()
  const update = useUpdateSignIn()
  const test = useTestSignIn()
  const isFixed = settings['fixed-attributes'].includes('issuer')
  const draft = useDraft({
    issuer: settings.issuer ?? '',
    'client-id': settings['client-id'] ?? '',
    'client-secret': '',
    'is-public': settings.issuer !== null && !settings['has-client-secret'],
    name: settings.name,
    scopes: settings.scopes,
    'group-claim': settings['group-claim'],
  })
  const { values } = draft
  const changes = inputOf(draft.changed)
  // A result of other values would mislead.
  const isTested = JSON.stringify(test.variables) === JSON.stringify(changes)
  const isComplete = values.issuer.trim() !== '' && values['client-id'].trim() !== ''
  const reason = isComplete ? undefined : 'enter the issuer and the client ID first'

  async function startTrial() {
    // Opened by the click: browsers block windows that open later.
    const tab = window.open('', '_blank')
    if (tab) tab.opener = null
    try {
      draft.setError(null)
      const trial = await createTrial(changes)
      if (tab) tab.location.href = serverPath(trial.attributes.url)
      else window.location.assign(serverPath(trial.attributes.url))
      await navigate({ search: { trial: trial.id }, replace: true })
    } catch (error) {
      tab?.close()
      draft.setError(errorOf(error))
    }
  }

  async function runTest() {
    draft.setError(null)
    await test.mutateAsync(changes).catch((error: unknown) => draft.setError(error as Error))
  }

  const checks = (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <Button label="Test connection" reason={reason} isPending={test.isPending} onClick={() => void runTest()} />
        <Button label="Try sign-in" reason={reason} onClick={() => void startTrial()} />
      </div>
      <p className="text-dim">
        Both use the values above without saving them. A trial opens the provider in a new tab, shows what it reports,
        and changes no account.
      </p>
      {isTested && test.data && <TestResult test={test.data} />}
    </div>
  )
  return (
    <>
      <SettingsForm
        title="Identity provider"
        about={settings.issuer === null ? 'None is configured: users sign in with passwords.' : undefined}
        readOnly={isFixed && <FixedProvider settings={settings}>{checks}</FixedProvider>}
        names={NAMES}
        draft={draft}
        done="Provider saved"
        onSave={async () => update.mutateAsync(changes)}
      >
        <TextField
          label="Issuer"
          placeholder="https://id.example.com/realms/main"
          hint="The URL below which the provider serves /.well-known/openid-configuration."
          {...draft.text('issuer')}
          {...CODE_INPUT}
        />
        <div>
          <p className="mb-1 font-medium">Redirect URI</p>
          <CodeBlock label="the redirect URI" code={settings['redirect-uri']} />
          <p className="mt-1 text-dim">Register it with the provider.</p>
        </div>
        <TextField label="Client ID" {...draft.text('client-id')} {...CODE_INPUT} />
        {!values['is-public'] && (
          <TextField
            label="Client secret"
            type="password"
            autoComplete="off"
            placeholder={settings['has-client-secret'] ? 'saved, never shown' : undefined}
            hint={settings['has-client-secret'] ? 'Empty keeps the saved secret.' : undefined}
            {...draft.text('client-secret')}
          />
        )}
        <CheckField
          label="Public client"
          hint="The provider has issued no secret. PKCE is used in either case."
          {...draft.check('is-public')}
        />
        <TextField label="Button label" hint="“Sign in with …” on the sign-in page." {...draft.text('name')} />
        <TextField
          label="Scopes"
          hint="Separated by spaces. Some providers send groups only for an additional scope."
          {...draft.text('scopes')}
          {...CODE_INPUT}
        />
        <TextField
          label="Group claim"
          hint={
            <>
              Groups in this claim add users to teams. Nested claims: <code>realm_access.roles</code>.{' '}
              <DocsLink page="sign-in" anchor="map-groups-to-teams">
                Map groups to teams
              </DocsLink>
            </>
          }
          {...draft.text('group-claim')}
          {...CODE_INPUT}
        />
        {checks}
      </SettingsForm>
      {settings.issuer !== null && !isFixed && <RemoveProvider />}
    </>
  )
}

/** The attributes to send for the changes of the form. */
function inputOf({
  issuer,
  'is-public': isPublic,
  'client-secret': secret,
  ...texts
}: Partial<FormValues>): SignInInput {
  const sent = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim()]))
  return {
    ...sent,
    ...(issuer !== undefined && { issuer: issuer.trim() || null }),
    ...(secret !== undefined && secret !== '' && { 'client-secret': secret }),
    ...(isPublic === true && { 'client-secret': null }),
  }
}
type FormValues = Record<(typeof NAMES)[number], string> & { 'is-public': boolean }

function FixedProvider({ settings, children }: { settings: SignInSettings; children: React.ReactNode }) {
  return (
    <div className="space-y-4">
      <Notice>
        The server was started with <code>GROUNDSTATE_OIDC_ISSUER</code>, so the provider is changed in its environment.
      </Notice>
      <DescriptionList
        facts={[
          ['Issuer', settings.issuer],
          ['Client ID', settings['client-id']],
          ['Client secret', settings['has-client-secret'] ? 'set' : 'none (public client)'],
          ['Button label', settings.name],
          ['Scopes', settings.scopes],
          ['Group claim', settings['group-claim']],
          ['Redirect URI', settings['redirect-uri']],
        ]}
      />
      {children}
    </div>
  )
}

function RemoveProvider() {
  const update = useUpdateSignIn()
  return (
    <Card title="Remove the provider" about="Its users keep their accounts, but need a password to sign in.">
      <Confirm
        label="Remove provider"
        title="Remove the identity provider?"
        consequence="Users can no longer sign in with it. Open sessions and API tokens stay valid."
        action="Remove provider"
        done="Provider removed"
        onConfirm={async () => update.mutateAsync({ issuer: null })}
      />
    </Card>
  )
}

function Passwords({ settings }: { settings: SignInSettings }) {
  const update = useUpdateSignIn()
  const isOn = settings['password-sign-in']
  const provedAt = settings['proved-at']
  const isFixed = settings['fixed-attributes'].includes('password-sign-in')
  const save = async (enabled: boolean) => {
    await update.mutateAsync({ 'password-sign-in': enabled })
    await invalidate(['sign-in-settings'])
    toast({ text: enabled ? 'Passwords enabled' : 'Passwords disabled' })
  }
  return (
    <Card
      title="Passwords"
      about={isOn ? 'Users may sign in with a password.' : 'Users sign in with the identity provider only.'}
    >
      {isFixed && (
        <Notice>
          The server was started with <code>GROUNDSTATE_PASSWORD_SIGN_IN</code>, so this is changed in its environment.
        </Notice>
      )}
      {!isFixed && isOn && (
        <div className="space-y-3">
          <p className="max-w-prose text-dim">
            {provedAt === null ? (
              'Before you can disable passwords, sign in as an administrator in a trial with the saved settings, so that nobody is locked out.'
            ) : (
              <>
                An administrator signed in with these settings in a trial <RelativeTime at={provedAt} />.
              </>
            )}
          </p>
          <Confirm
            label="Disable passwords"
            reason={
              settings.issuer === null
                ? 'configure an identity provider first'
                : provedAt === null
                  ? 'sign in as an administrator in a trial first'
                  : undefined
            }
            title="Disable sign-in with passwords?"
            consequence="Users who are not known to the identity provider can no longer sign in. API tokens and open sessions stay valid. If the provider fails, the operator enables passwords with GROUNDSTATE_PASSWORD_SIGN_IN=true."
            action="Disable passwords"
            onConfirm={async () => save(false)}
          />
        </div>
      )}
      {!isFixed && !isOn && (
        <Confirm
          kind="plain"
          label="Enable passwords"
          title="Enable sign-in with passwords?"
          consequence="Users who have a password can sign in with it again."
          action="Enable passwords"
          onConfirm={async () => save(true)}
        />
      )}
    </Card>
  )
}
