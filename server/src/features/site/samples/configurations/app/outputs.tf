output "network" {
  value = local.network
}

output "owner" {
  value = var.owner
}

output "replicas" {
  description = "The replicas by the name of the service."
  value       = { for key, service in module.service : key => length(service.replicas) }
}
