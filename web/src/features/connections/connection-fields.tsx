import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { DocsLink } from '../../components/docs-link.tsx'
import { CODE_INPUT, CheckField, RadioField, SelectField, TextArea, TextField } from '../../components/form.tsx'
import { ExternalLink } from '../../components/links.tsx'
import { capitalized } from '../../components/numbers.ts'
import { errorAt, type useDraft } from '../../components/settings-form.tsx'
import { useAgentPools } from '../workspaces/new-workspace.ts'
import type { ConnectionValues } from './connection-form.ts'
import { PROVIDERS, WAYS, hostPage } from './providers.ts'

type Draft<Names extends keyof ConnectionValues> = ReturnType<typeof useDraft<Pick<ConnectionValues, Names>>>

export const POOL_POINTER = /^\/data\/relationships\/agent-pool/
export const PROJECTS_POINTER = /^\/data\/relationships\/projects/
export const ACCESS_NAMES = ['oauth-token-string', 'oauth-token-username', 'key', 'secret', 'private-key'] as const

type AccessNames = 'way' | 'token' | 'username' | 'key' | 'secret' | 'privateKey'
type AccessFieldsProps = {
  provider: ServiceProvider
  httpUrl: string
  draft: Draft<AccessNames>
  /** Whether the connection exists: its way of access is fixed, and empty fields keep their values. */
  isReplacement?: boolean
}

/** The credentials for the host, and where to create them. */
export function AccessFields({ provider, httpUrl, draft, isReplacement = false }: AccessFieldsProps) {
  const { ways } = PROVIDERS[provider]
  const { way } = draft.values
  return (
    <>
      {ways.length > 1 && !isReplacement && (
        <RadioField
          label="Access"
          name="way"
          value={way}
          onChange={(value) => draft.set({ way: value })}
          options={ways.map((value) => ({ value, ...WAYS[value] }))}
        />
      )}
      {way === 'token' && <TokenFields {...{ provider, httpUrl, draft, isReplacement }} />}
      {way === 'oauth' && <OAuthFields {...{ provider, httpUrl, draft, isReplacement }} />}
      {way === 'ssh-key' && (
        <TextArea
          label={isReplacement ? 'New private key' : 'Private key'}
          hint="A deploy key without a passphrase, in OpenSSH or PEM format. It can’t be shown again."
          placeholder="-----BEGIN OPENSSH PRIVATE KEY-----"
          rows={6}
          className="font-mono"
          {...draft.text('privateKey', 'private-key')}
          {...CODE_INPUT}
        />
      )}
    </>
  )
}

function TokenFields({ provider, httpUrl, draft, isReplacement }: Required<AccessFieldsProps>) {
  const { token, username, hasApi } = PROVIDERS[provider]
  // Anyone may read public repositories; an API needs a token.
  const optional = hasApi ? '' : ' (optional)'
  const page = hostPage(provider, httpUrl, token.path)
  return (
    <>
      {username !== undefined && (
        <TextField
          label={isReplacement ? username : username + optional}
          hint={isReplacement ? 'If empty, the stored one is kept.' : undefined}
          {...draft.text('username', 'oauth-token-username')}
          {...CODE_INPUT}
        />
      )}
      <TextField
        label={isReplacement ? 'New token' : `Token${optional}`}
        type="password"
        hint={
          <>
            {page === undefined ? (
              capitalized(token.name)
            ) : (
              <ExternalLink href={page}>Create {token.name}</ExternalLink>
            )}
            {token.permits.length > 0 && (
              <>
                {' with '}
                {token.permits.map((permit, index) => [
                  index > 0 && ', ',
                  <code key={permit} className="whitespace-nowrap">
                    {permit}
                  </code>,
                ])}
              </>
            )}
            . {token.note}
          </>
        }
        {...draft.text('token', 'oauth-token-string')}
        {...CODE_INPUT}
        autoComplete="new-password"
      />
    </>
  )
}

function OAuthFields({ provider, httpUrl, draft, isReplacement }: Required<AccessFieldsProps>) {
  const { oauth } = PROVIDERS[provider]
  const page = hostPage(provider, httpUrl, oauth?.path)
  const { origin, pathname } = new URL(document.baseURI)
  return (
    <>
      <p className="text-dim">
        {page === undefined ? (
          'Register an OAuth application on the host'
        ) : (
          <ExternalLink href={page}>Register an OAuth application</ExternalLink>
        )}
        {oauth?.scopes !== undefined && ` with ${oauth.scopes}`}.{' '}
        {!isReplacement && (
          <>
            The next page shows its callback URL. Until then, enter{' '}
            <code className="break-all">{`${origin}${pathname}`}</code>.
          </>
        )}
      </p>
      <TextField label={isReplacement ? 'New client ID' : 'Client ID'} {...draft.text('key')} {...CODE_INPUT} />
      <TextField
        label={isReplacement ? 'New client secret' : 'Client secret'}
        type="password"
        {...draft.text('secret')}
        {...CODE_INPUT}
        autoComplete="new-password"
      />
    </>
  )
}

export function PoolField({ organization, draft }: { organization: string; draft: Draft<'poolId'> }) {
  const pools = useAgentPools(organization)
  const { poolId } = draft.values
  const known = pools.data ?? []
  return (
    <SelectField
      label="Reached through"
      hint="Agents reach hosts in their own network: they send the requests and fetch the repositories."
      value={poolId}
      onChange={({ target }) => draft.set({ poolId: target.value })}
      options={[
        ['', 'This server'],
        ...(poolId !== '' && !known.some(({ id }) => id === poolId) ? [[poolId, poolId] as const] : []),
        ...known.map(({ id, name, online }) => [id, `Agent pool ${name} (${online} online)`] as const),
      ]}
      error={errorAt(draft.error, '/data/relationships/agent-pool')}
    />
  )
}

/** Which workspaces may use a connection. */
export function ScopeField({ draft }: { draft: Draft<'scope'> }) {
  return (
    <RadioField
      label="Scope"
      name="scope"
      value={draft.values.scope}
      onChange={(scope) => draft.set({ scope })}
      options={[
        { value: 'organization', text: 'All workspaces', about: 'Every workspace of the organization.' },
        { value: 'selected', text: 'Selected projects', about: 'Only workspaces of the projects on the list.' },
      ]}
    />
  )
}

export function ReportingFields({ provider, draft }: { provider: ServiceProvider; draft: Draft<'forks' | 'polling'> }) {
  const { hasApi } = PROVIDERS[provider]
  return (
    <>
      {hasApi ? (
        <CheckField
          label="Poll for changes"
          hint={
            <>
              For hosts that can’t reach this server: it also polls repositories that have a webhook. Those without one
              are polled in any case. <PollingLink />
            </>
          }
          {...draft.check('polling')}
        />
      ) : (
        <p className="text-dim">
          The server polls each repository every minute, and less often while a hook on the git server reports pushes.{' '}
          <PollingLink />
        </p>
      )}
      {hasApi && (
        <CheckField
          label="Plan pull requests from forks"
          hint="Their plans get no sensitive variables. Anyone who may open a pull request can then run code on the agents."
          {...draft.check('forks')}
        />
      )}
    </>
  )
}

function PollingLink() {
  return (
    <DocsLink page="repositories" anchor="hosts-that-cannot-reach-the-server">
      How it works
    </DocsLink>
  )
}
