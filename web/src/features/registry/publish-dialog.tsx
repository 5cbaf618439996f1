import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { errorOf, ownPath, putFile } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Notice } from '../../components/feedback.tsx'
import { CODE_INPUT, FormErrors, RadioField, TextField, fieldError } from '../../components/form.tsx'
import { byteSize } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Progress } from '../../components/progress.tsx'
import { SourceField } from '../configurations/source-field.tsx'
import { type Source, SourceError } from '../configurations/source.ts'
import { type UploadStep, archiveOf } from '../configurations/upload.ts'
import { MODULES, type ModuleName, type RegistryModule, createModule, createModuleVersion } from './registry.ts'
import { RepositoryForm } from './repository-form.tsx'

type PublishDialogProps = {
  organization: string
  /** The module of a new version; a new module without one. */
  module?: RegistryModule
  onClose: () => void
  onPublished: (module: ModuleName & { version: string | undefined }) => void
}

/** Publishes a module or a version, from an upload or a repository. */
export default function PublishDialog({ organization, module, onClose, onPublished }: PublishDialogProps) {
  const [kind, setKind] = useState('upload')
  const id = useId()
  const [isPending, setIsPending] = useState(false)
  const props = { organization, id, onPending: setIsPending, onPublished }
  return (
    <Dialog
      title={module ? `Publish a version of ${module.attributes.name}` : 'Publish a module'}
      about="A published version never changes."
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Publish" type="submit" form={id} kind="primary" isPending={isPending} />
        </>
      }
    >
      <div className="space-y-4">
        {!module && !isPending && (
          <RadioField
            label="Source"
            name="source"
            value={kind}
            onChange={setKind}
            options={[
              { value: 'upload', text: 'Upload', about: 'A folder or a .tar.gz archive from this computer.' },
              { value: 'repository', text: 'Repository', about: 'Tags or commits of a connected repository.' },
            ]}
          />
        )}
        {kind === 'upload' ? <UploadForm {...props} module={module} /> : <RepositoryForm {...props} />}
      </div>
    </Dialog>
  )
}

type UploadFormProps = Omit<PublishDialogProps, 'onClose'> & {
  id: string
  module: RegistryModule | undefined
  onPending: (isPending: boolean) => void
}

function UploadForm({ organization, id, module, onPending, onPublished }: UploadFormProps) {
  const [name, setName] = useState(module?.attributes.name ?? '')
  const [provider, setProvider] = useState(module?.attributes.provider ?? '')
  const [version, setVersion] = useState(module ? nextVersion(module) : '1.0.0')
  const [source, setSource] = useState<Source>()
  const [step, setStep] = useState<UploadStep>()
  const [error, setError] = useState<Error | null>(null)
  const controller = useRef<AbortController>(undefined)
  /** The module or version of an earlier attempt; it is not created again. */
  const made = useRef({ module: '', version: '', url: '' })
  useEffect(() => () => controller.current?.abort(), [])

  function progress(next: UploadStep | undefined) {
    setStep(next)
    onPending(next !== undefined)
  }

  async function publish({ signal }: AbortController, chosen: Source) {
    const names = { name: name.trim(), provider: provider.trim() }
    const number = version.trim()
    progress({ label: 'Packing files', done: 0, total: undefined })
    const archive = await archiveOf(chosen)
    const address = `${names.name}/${names.provider}`
    if (!module && made.current.module !== address) {
      await createModule(organization, names)
      made.current = { module: address, version: '', url: '' }
    }
    if (made.current.version !== number) {
      const created = await createModuleVersion(organization, names, { version: number })
      made.current = { ...made.current, version: number, url: ownPath(created.links.upload ?? '') }
    }
    const onProgress = (done: number) => progress({ label: 'Uploading', done, total: archive.size })
    onProgress(0)
    await putFile(made.current.url, archive, { signal, onProgress })
    toast({ text: `Version ${number} published` })
    await invalidate([MODULES, organization])
    onPublished({ ...names, version: number })
  }

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (step) return
    if (!source) {
      setError(new SourceError('Select a folder or an archive.'))
      return
    }
    setError(null)
    controller.current = new AbortController()
    const { signal } = controller.current
    try {
      await publish(controller.current, source)
    } catch (cause) {
      await invalidate([MODULES, organization])
      if (signal.aborted) return
      progress(undefined)
      setError(errorOf(cause))
    }
  }
  if (step) return <Progress {...step} format={byteSize} />
  return (
    <form id={id} onSubmit={(event) => void submit(event)} className="space-y-4">
      {!module && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            placeholder="network"
            value={name}
            onChange={({ target }) => setName(target.value)}
            error={fieldError(error, 'name')}
            autoFocus
            {...CODE_INPUT}
          />
          <TextField
            label="Provider"
            placeholder="aws"
            hint="The main provider of its resources."
            value={provider}
            onChange={({ target }) => setProvider(target.value)}
            error={fieldError(error, 'provider')}
            {...CODE_INPUT}
          />
        </div>
      )}
      <TextField
        label="Version"
        placeholder="1.0.0"
        hint="x.y.z, such as 1.2.0 or 1.2.0-beta.1"
        value={version}
        onChange={({ target }) => setVersion(target.value)}
        error={fieldError(error, 'version')}
        {...CODE_INPUT}
      />
      <SourceField source={source} onChange={setSource} />
      {error instanceof SourceError ? (
        <Notice tone="bad" role="alert">
          {error.message}
        </Notice>
      ) : (
        <FormErrors error={error} names={['name', 'provider', 'version']} />
      )}
    </form>
  )
}

/** The next minor version after the latest one. */
function nextVersion({ attributes }: RegistryModule) {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(attributes['latest-version'] ?? '') ?? []
  return minor === undefined ? '1.0.0' : `${major}.${Number(minor) + 1}.0`
}
