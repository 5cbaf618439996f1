output "name" {
  description = "The name of the network, which sample-app reads."
  value       = terraform_data.network.output.name
}

output "subnets" {
  description = "The address ranges by the name of the subnet."
  value       = { for key, subnet in module.subnet : key => subnet.cidr }
}

output "rule_count" {
  value = length(module.firewall.rules)
}

output "vpn_password" {
  value     = var.vpn_password
  sensitive = true
}
