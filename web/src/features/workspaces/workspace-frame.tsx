import { Outlet, getRouteApi, useMatches } from '@tanstack/react-router'
import { Lock, LockOpen, Pencil, Play } from 'lucide-react'
import { Suspense, lazy, useEffect } from 'react'
import { failureOf, includedOf } from '../../api/queries.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Notice, Skeleton } from '../../components/feedback.tsx'
import { TextArea, fieldError, formValues } from '../../components/form.tsx'
import { InlineForm, useInlineForm } from '../../components/inline-form.tsx'
import { ListLink, TargetLink } from '../../components/links.tsx'
import { Page, usePageTitle } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { RelativeTime, withLocalTimes } from '../../components/time.tsx'
import { closestPages, organizationPages } from '../organizations/organization-pages.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { RunLink } from '../runs/run-navigation.tsx'
import { NoRun, RunBadges, RunStatus, runState } from '../runs/run-status.tsx'
import { useSession } from '../session/session.ts'
import { holderText, lockHolder, lockReason } from './lock-holder.ts'
import { WORKSPACE_SETTINGS, WORKSPACE_TABS, shownTabs, workspaceRequest } from './workspace-sections.ts'
import type { WorkspaceAttributes } from './workspace.ts'
import { useOpenWorkspace, useUnlock, useUpdateWorkspace, useWorkspace, useWorkspaceLock } from './workspace.ts'

const NewRunDialog = lazy(async () => ({
  default: (await import('../runs/new-run/new-run-dialog.tsx')).NewRunDialog,
}))
const UploadDialog = lazy(async () => import('../configurations/upload-dialog.tsx'))
const ImportDialog = lazy(async () => import('../state-import/import-dialog.tsx'))
const route = getRouteApi('/frame/app/$organization/workspaces/$workspace')

export function WorkspaceFrame() {
  const { organization, workspace: name } = route.useParams()
  const navigate = route.useNavigate()
  const workspace = useWorkspace(organization, name)
  const currentName = workspace.data?.data.attributes.name

  useEffect(() => {
    if (currentName !== undefined && currentName !== name)
      void navigate({
        to: '.',
        params: (before) => ({ ...before, workspace: currentName }),
        search: true,
        replace: true,
        ignoreBlocker: true,
      })
  }, [navigate, name, currentName])

  if (workspace.isPending) return <Skeleton label="Loading the workspace" rows={8} />
  const failure = failureOf(workspace)
  if (!failure) return <Layout />
  return (
    <ErrorPage {...failure} what="workspace" missing={`No workspace named “${name}” in ${organization}.`}>
      <OtherPages organization={organization} name={name} />
    </ErrorPage>
  )
}

/** Pages with a name like that of a missing workspace: `/app/main/teamz` may have meant one of them. */
function OtherPages({ organization, name }: { organization: string; name: string }) {
  const pages = closestPages(name, organizationPages(organization, useOrganizationPermissions(organization)))
  return (
    <ul className="mt-4 list-disc space-y-1 pl-5">
      {pages.map(({ text, link }) => (
        <li key={text}>
          <TargetLink leadsTo={link} className="text-accent underline">
            {text}
          </TargetLink>
        </li>
      ))}
      <li>
        <ListLink list="workspaces" search={{ q: name }} className="text-accent underline">
          Workspaces with “{name}” in their name
        </ListLink>
      </li>
    </ul>
  )
}

function Layout() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const { name, permissions, 'waiting-reason': waiting } = attributes
  const run = includedOf(document).one('runs', relationships['current-run'])
  const { start, destroy = false, upload, import: isImport } = route.useSearch()
  const tabPath = useTabPath()
  const navigate = route.useNavigate()
  const openStart = () => void navigate({ to: '.', search: (before) => ({ ...before, start: true }) })
  // Replaces the history entry, so that Back does not reopen the dialog.
  const close = () =>
    void navigate({
      to: '.',
      search: (before) => ({ ...before, start: undefined, destroy: undefined, upload: undefined, import: undefined }),
      replace: true,
    })
  const dialog = { organization, workspace, onClose: close }
  const tabs = shownTabs(workspace.attributes).map(([text, path]) => ({
    text,
    isExact: path === '',
    link: { to: `/app/$organization/workspaces/$workspace${path}`, params: { organization, workspace: name } },
  }))

  return (
    <Page
      title={name}
      documentTitle={null}
      badge={
        run ? (
          <>
            <RunLink workspace={name} run={run}>
              <RunStatus run={run.attributes} isBadge />
            </RunLink>
            <RunBadges run={run.attributes} />
          </>
        ) : (
          permissions['can-read-run'] && <NoRun hasPlans={relationships['latest-run'].data !== null} />
        )
      }
      about={<Description />}
      actions={
        <>
          <LockActions />
          {permissions['can-read-run'] && (
            <Button label="New run" kind="primary" icon={Play} reason={runRefusal(attributes)} onClick={openStart} />
          )}
        </>
      }
    >
      <div className="-mt-3 mb-4 space-y-3">
        <LockLine />
        {waiting && <Notice tone="warn">{withLocalTimes(waiting)}</Notice>}
      </div>
      <Tabs label="Workspace" tabs={tabs} />
      <div className="mt-4">
        <TabTitle overview={run ? `${name} · run ${runState(run.attributes).text}` : name} />
        <Outlet />
        <div className="mt-4 -ml-3">
          <CopyCurl path={workspaceRequest(tabPath, { id: workspace.id, name, organization })} />
        </div>
      </div>
      <Suspense>
        {permissions['can-queue-run'] && start && <NewRunDialog workspace={workspace} isOpen onClose={close} />}
        {permissions['can-queue-destroy'] && destroy && (
          <NewRunDialog workspace={workspace} kind="destroy" isOpen onClose={close} />
        )}
        {upload && <UploadDialog {...dialog} />}
        {isImport && <ImportDialog {...dialog} />}
      </Suspense>
    </Page>
  )
}

/** Why the user cannot start a run. */
function runRefusal({ permissions, 'execution-mode': mode }: WorkspaceAttributes) {
  if (!permissions['can-queue-run'])
    return 'you can’t start runs here: a workspace administrator can grant your team plan access'
  return mode === 'local' ? 'execution mode is local: runs execute in the CLI' : undefined
}

/** The open tab, or the open section of the settings: `/settings/tags`; empty for the overview. */
function useTabPath() {
  const id = useMatches({ select: (matches) => matches.at(-1)?.routeId ?? '' })
  return id.slice(route.id.length).replace(/\/$/, '')
}

/** Sets the title of the open tab, "kafka-prod · variables". Rendered before the tab, which may replace it. */
function TabTitle({ overview }: { overview: string }) {
  const { workspace } = route.useParams()
  const path = useTabPath()
  const section = WORKSPACE_SETTINGS.find((each) => `/settings${each.path}` === path)
  const text = section?.text ?? WORKSPACE_TABS.find(([, tab]) => tab === path)?.[0]
  const title = section?.path === '' ? 'Settings' : text
  usePageTitle(path === '' || title === undefined ? overview : `${workspace} · ${title.toLowerCase()}`)
  return null
}

function Description() {
  const { organization, workspace } = useOpenWorkspace()
  const { description, permissions } = workspace.attributes
  const { isOpen, opener, open, close } = useInlineForm()
  const update = useUpdateWorkspace(organization)
  const edit = { ref: opener, size: 'small', icon: Pencil, onClick: open } as const

  function submit(form: HTMLFormElement) {
    const attributes = { description: formValues(form)['description']?.trim() || null }
    update.mutate({ id: workspace.id, attributes }, { onSuccess: () => close('Description saved') })
  }
  function cancel() {
    update.reset()
    close()
  }
  if (isOpen)
    return (
      <InlineForm
        action="Save"
        size="small"
        names={['description']}
        mutation={update}
        onSubmit={submit}
        onCancel={cancel}
      >
        <TextArea
          label="Description"
          isLabelHidden
          name="description"
          rows={2}
          // The user opened the form by its button.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          defaultValue={description ?? ''}
          error={fieldError(update.error, 'description')}
        />
      </InlineForm>
    )
  if (!description)
    return permissions['can-update'] && <Button label="Add description" kind="quiet" className="-ml-2" {...edit} />
  return (
    <div className="flex items-start gap-1">
      <p className="line-clamp-3 min-w-0" title={description}>
        {description}
      </p>
      {permissions['can-update'] && <IconButton label="Edit description" {...edit} />}
    </div>
  )
}

function LockLine() {
  const { document, workspace } = useOpenWorkspace()
  const holder = lockHolder(document)
  if (!holder) return null
  const { name, 'locked-at': at, 'locked-reason': reason } = workspace.attributes
  return (
    <p className="mt-3 flex items-start gap-1.5 text-warn">
      <Lock size={15} className="mt-0.5 shrink-0" />
      <span className="min-w-0">
        <span className="font-medium">
          Locked by{' '}
          {holder.kind === 'run' ? (
            <RunLink workspace={name} run={holder} className="underline">
              {holder.id}
            </RunLink>
          ) : (
            holderText(holder)
          )}
        </span>
        {at !== null && (
          <>
            {' '}
            <RelativeTime at={at} />
          </>
        )}
        {reason ? `: ${reason}` : holder.kind === 'run' && ' while it runs'}
      </span>
    </p>
  )
}

function LockActions() {
  const { organization, document, workspace } = useOpenWorkspace()
  const change = useWorkspaceLock(organization)
  const { unlock, isPending: isUnlocking } = useUnlock(organization)
  const { data: account } = useSession()
  const { lock: isOpenedByLink = false } = route.useSearch()
  const navigate = route.useNavigate()
  const opened = {
    isOpenedByLink,
    onClose: () => void navigate({ to: '.', search: (before) => ({ ...before, lock: undefined }), replace: true }),
  }
  const { name, permissions } = workspace.attributes
  const holder = lockHolder(document)
  if (!holder) {
    return permissions['can-lock'] ? (
      <Confirm
        key="lock"
        {...opened}
        label="Lock"
        icon={Lock}
        kind="plain"
        title={`Lock ${name}?`}
        consequence="No run starts, and no CLI can change the state, until the workspace is unlocked."
        comment="Reason (visible to others)"
        action="Lock workspace"
        done={`${name} locked`}
        onConfirm={async (reason) => change.mutateAsync({ id: workspace.id, action: 'lock', reason })}
      />
    ) : null
  }
  const isOwn = holder.kind === 'user' && holder.id === account?.id
  return (
    <>
      {permissions['can-unlock'] && (
        <Button
          label="Unlock"
          icon={LockOpen}
          isPending={isUnlocking}
          reason={isOwn ? undefined : lockReason(holder, workspace.attributes)}
          onClick={() => unlock(workspace)}
        />
      )}
      {permissions['can-force-unlock'] && !isOwn && (
        <Confirm
          key="force"
          {...opened}
          label="Force-unlock"
          icon={LockOpen}
          reason={holder.kind === 'run' ? `${holder.id} is running: cancel it to release the lock` : undefined}
          title={`Force-unlock ${name}, locked by ${holderText(holder)}?`}
          consequence="The lock holder assumes exclusive access. A state upload in progress is discarded, and its changes may be lost."
          action="Force-unlock"
          done={`${name} unlocked`}
          onConfirm={async () => change.mutateAsync({ id: workspace.id, action: 'force-unlock' })}
        />
      )}
    </>
  )
}
