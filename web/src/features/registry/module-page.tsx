import { getRouteApi } from '@tanstack/react-router'
import { Plus, Trash2 } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { EmptyState, ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { useLeaveDialog } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { ModulePublications, ModuleVersionView } from './module-version.tsx'
import { MODULES, type RegistryModule, moduleKey, modulePath, useModule, useUses } from './registry.ts'
import { deletionOf } from './usage.tsx'

const PublishDialog = lazy(async () => import('./publish-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/registry/modules/$name/$provider')

export function ModulePage() {
  const { organization, name, provider } = route.useParams()
  const query = useModule(organization, { name, provider })
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="module" list="registry" {...failure} />
  return query.data ? <OpenModule module={query.data} /> : <Skeleton label="Loading the module" />
}

function OpenModule({ module }: { module: RegistryModule }) {
  const { organization } = route.useParams()
  const { new: isNew = false, version: chosen } = route.useSearch()
  const navigate = route.useNavigate()
  const { name, provider, permissions, 'version-statuses': versions, 'latest-version': latest } = module.attributes
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const leave = useLeaveDialog(() => setNew(false))
  const version = chosen ?? latest ?? versions[0]?.version
  const repository = module.attributes['vcs-repo']
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${provider}`}
      badge={<Badge text={provider} />}
      about={repository ? `Published from ${repository['display-identifier']}` : undefined}
      actions={
        <>
          <CopyCurl path={modulePath(organization, module.attributes)} />
          <Button
            label="Publish version"
            kind="primary"
            icon={Plus}
            reason={publishReason(module)}
            onClick={() => setNew(true)}
          />
        </>
      }
    >
      <div className="space-y-5">
        {version === undefined ? (
          <>
            <NoVersions module={module} />
            {repository && <ModulePublications module={module} mayResync={permissions['can-delete']} />}
          </>
        ) : (
          <ModuleVersionView module={module} version={version} />
        )}
        {permissions['can-delete'] && <DeleteModule module={module} />}
      </div>
      {isNew && publishReason(module) === undefined && (
        <Suspense>
          <PublishDialog
            organization={organization}
            module={module}
            onClose={() => setNew(false)}
            onPublished={({ version: published }) => {
              leave()
              void navigate({ search: { version: published } })
            }}
          />
        </Suspense>
      )}
    </Page>
  )
}

function publishReason({ attributes }: RegistryModule) {
  if (!attributes.permissions['can-delete']) return 'requires the permission to manage modules'
  const mechanism = attributes['publishing-mechanism']
  if (mechanism === 'git_tag') return 'versions are tags of the repository: push a tag'
  return mechanism === 'branch' ? 'versions are commits of a branch: publish one with the API' : undefined
}

function NoVersions({ module: { attributes } }: { module: RegistryModule }) {
  const prefix = attributes['vcs-repo']?.['tag-prefix'] ?? ''
  if (attributes['publishing-mechanism'] === 'git_tag')
    return (
      <EmptyState
        title="No versions yet"
        text={`The repository has no tag that is a version. Push one, such as ${prefix}v1.0.0, and it appears here.`}
      />
    )
  return <EmptyState title="No versions yet" text="The module can be used once a version is published." />
}

function DeleteModule({ module }: { module: RegistryModule }) {
  const { organization } = route.useParams()
  const deleteAndLeave = useDeleteAndLeave()
  const { name, 'version-statuses': versions } = module.attributes
  const { data: uses } = useUses(organization, MODULES, module.id)
  const { path, ...confirmation } = deletionOf(uses, { name, path: modulePath(organization, module.attributes) })
  return (
    <Confirm
      label="Delete module"
      icon={Trash2}
      title={`Delete ${name} with all ${versions.length} versions?`}
      {...confirmation}
      onConfirm={async () =>
        deleteAndLeave({
          path,
          name: `Module ${name}`,
          target: { to: '/app/$organization/registry', params: { organization } },
          own: moduleKey(organization, module.attributes),
          affected: [[MODULES, organization]],
        })
      }
    />
  )
}
