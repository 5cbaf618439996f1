import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { NotFoundPage, Skeleton } from '../../components/feedback.tsx'
import { CODE_INPUT, FormErrors, TextField } from '../../components/form.tsx'
import { ListLink, TargetLink, useGo } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { ScopeList } from '../workspaces/scope-list.tsx'
import {
  ACCESS_NAMES,
  AccessFields,
  POOL_POINTER,
  PROJECTS_POINTER,
  PoolField,
  ReportingFields,
  ScopeField,
} from './connection-fields.tsx'
import { NEW_CONNECTION, newConnectionBody } from './connection-form.ts'
import { useCreateConnection } from './connections.ts'
import { appPath } from './installations-card.tsx'
import { OFFERED, PROVIDERS } from './providers.ts'

const route = getRouteApi('/frame/app/$organization/connections/new')

const NAMES = ['name', 'http-url', ...ACCESS_NAMES, POOL_POINTER, PROJECTS_POINTER]

/** A new connection: its host, and then only what that host needs. The URL has the host. */
export function NewConnectionPage() {
  const { organization } = route.useParams()
  const { host } = route.useSearch()
  const navigate = route.useNavigate()
  const permissions = useOrganizationPermissions(organization)
  const provider = OFFERED.find((each) => each === host)
  if (!permissions) return <Skeleton />
  if (!permissions['can-update-oauth'])
    return (
      <NotFoundPage title="You can’t connect hosts">
        Connecting a host requires the permission to manage connections: an owner of {organization} can grant it to your
        team.{' '}
        <ListLink list="connections" className="text-accent underline">
          All connections
        </ListLink>
      </NotFoundPage>
    )
  return (
    <Page
      title="New connection"
      about={
        <>
          Lets workspaces follow repositories of a host: pushes start runs, and pull requests get plans.{' '}
          <DocsLink page="repositories">Repositories</DocsLink>
        </>
      }
    >
      <div className="max-w-3xl space-y-4">
        <Card title="Host">
          <fieldset>
            <legend className="sr-only">Host</legend>
            <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
              {OFFERED.map((each) => (
                <label
                  key={each}
                  className="flex cursor-pointer items-center gap-2 rounded-md border border-line px-3 py-2 font-medium has-checked:border-accent has-checked:bg-accent-soft"
                >
                  <input
                    type="radio"
                    name="host"
                    value={each}
                    checked={each === provider}
                    onChange={() => void navigate({ search: { host: each }, replace: true, resetScroll: false })}
                    className="size-4 shrink-0 accent-accent"
                  />
                  {each === 'git' ? 'Any git server' : PROVIDERS[each].text}
                </label>
              ))}
            </div>
          </fieldset>
        </Card>
        {provider && <ConnectionForm key={provider} organization={organization} provider={provider} />}
      </div>
    </Page>
  )
}

function ConnectionForm({ organization, provider }: { organization: string; provider: ServiceProvider }) {
  const go = useGo()
  const create = useCreateConnection(organization)
  const { ways, address, text } = PROVIDERS[provider]
  const draft = useDraft({ ...NEW_CONNECTION, way: ways[0] ?? 'token' })
  const [projects, setProjects] = useState<readonly { id: string; name: string }[]>([])
  const form = useRef<HTMLFormElement>(null)
  const { values, setError } = draft
  useEffect(() => {
    if (draft.error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [draft.error])

  function submit(event: FormEvent) {
    event.preventDefault()
    if (create.isPending) return
    setError(null)
    const ids = projects.map(({ id }) => id)
    create.mutate(newConnectionBody(provider, values, ids), {
      onError: setError,
      onSuccess: ({ data: { id } }) =>
        go({ to: '/app/$organization/connections/$connection', params: { organization, connection: id } }),
    })
  }
  return (
    <form ref={form} noValidate onSubmit={submit} className="space-y-4">
      <Card
        title={text}
        actions={
          <TargetLink
            leadsTo={{ to: '/docs/$page', params: { page: PROVIDERS[provider].guide } }}
            className="text-accent underline"
          >
            Guide
          </TargetLink>
        }
      >
        <div className="max-w-xl space-y-4">
          {provider === 'github' && (
            <p className="text-dim">
              If this server has a GitHub App, you can{' '}
              <a href={appPath(organization)} className="text-accent underline">
                install it on GitHub
              </a>{' '}
              instead: it belongs to no person. <DocsLink page="github-app">GitHub App</DocsLink>
            </p>
          )}
          {address !== null && (
            <TextField
              label="Address"
              type="url"
              placeholder={values.way === 'ssh-key' ? 'ssh://git@git.example.com/srv/git' : address}
              hint={
                provider === 'git'
                  ? 'The part of the address that all repositories share, with https:// or ssh://.'
                  : undefined
              }
              {...draft.text('httpUrl', 'http-url')}
              {...CODE_INPUT}
            />
          )}
          <AccessFields provider={provider} httpUrl={values.httpUrl} draft={draft} />
          <TextField
            label="Name (optional)"
            hint="How the connection is listed; needed only to tell several to one host apart."
            {...draft.text('name')}
            autoComplete="off"
          />
        </div>
      </Card>
      <Card title="Use">
        <div className="max-w-xl space-y-4">
          <PoolField organization={organization} draft={draft} />
          <ScopeField draft={draft} />
          {values.scope === 'selected' && (
            <ScopeList
              organization={organization}
              kind="projects"
              title="Projects"
              none="No projects selected."
              ownerId="new"
              selected={projects}
              mayChange
              removeLabel={(name) => `Remove ${name} from the projects`}
              onAdd={({ id, text: name }) => setProjects([...projects, { id, name }])}
              onRemove={({ id }) => setProjects(projects.filter((project) => project.id !== id))}
            />
          )}
          <ReportingFields provider={provider} draft={draft} />
        </div>
      </Card>
      <FormErrors error={draft.error} names={NAMES} />
      <Button
        label={values.way === 'oauth' ? 'Continue' : `Connect ${provider === 'git' ? 'a git server' : text}`}
        type="submit"
        kind="primary"
        size="large"
        isPending={create.isPending}
      />
    </form>
  )
}
