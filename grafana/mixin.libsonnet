// For those who deploy by mixins: the dashboards and rules of the files, changed as `_config` says, beside those of other mixins.
//   jb install github.com/translation-exporter/translation-exporter@main
//   (import 'github.com/translation-exporter/translation-exporter/grafana/mixin.libsonnet') + {
//     _config+:: { selector: 'job="l10n"', thresholds: { 'translation:stalled_after_seconds': 1209600 } },
//   }
local files = {
  alerts: std.parseYaml(importstr '../deploy/prometheus/alerts.yaml'),
  rules: std.parseYaml(importstr '../deploy/prometheus/recording-rules.yaml'),
};

{
  _config+:: {
    // What the rules read: label matchers, such as 'job=~"l10n.*"'. All if empty.
    selector: '',
    // Where the runbook is: %s stands for the name of the alert in lower case.
    runbookUrlPattern: 'https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/README.md#%s',
    // The root of Grafana, such as 'https://grafana.example.org', before the paths of dashboards in annotations.
    grafanaUrl: '',
    // The label that names the cluster in rules and dashboards, where one Prometheus, Thanos or Mimir has several. A label that is not
    // there does no harm.
    clusterLabel: 'cluster',
    // Numbers, by the name of the series of the group translation-thresholds.
    thresholds: {},
    // By the name of the alert: its expr, for, labels, annotations; null leaves it out.
    overrides: {},
  },
  local config = $._config,
  local groups = files.alerts.groups + files.rules.groups,
  local known = {
    thresholds: [rule.record for group in groups if group.name == 'translation-thresholds' for rule in group.rules],
    overrides: [rule.alert for group in groups for rule in group.rules if std.objectHas(rule, 'alert')],
  },
  // A misspelt name would change nothing.
  local unknown = [
    '_config.%s: there is no %s; there are %s' % [key, name, std.join(', ', known[key])]
    for key in std.objectFields(known)
    for name in std.objectFields(config[key])
    if !std.member(known[key], name)
  ],
  assert unknown == [] : std.join('; ', unknown),
  // Each metric in the files has braces, of which `{}` are empty.
  local rewritten(expression) =
    local selected = if config.selector == '' then expression else std.strReplace(
      std.strReplace(expression, '{', '{%(selector)s, ') % config, ', }', '}'
    );
    std.strReplace(selected, '(cluster, ', '(%s, ' % config.clusterLabel),
  // Where an alert leads.
  local linked(rule) = rule {
    annotations+: {
      runbook_url: config.runbookUrlPattern % std.asciiLower(rule.alert),
      dashboard: config.grafanaUrl + rule.annotations.dashboard,
    },
  },
  local changed(rule) =
    local name = std.get(rule, 'alert');
    local override = if name == null then {} else std.get(config.overrides, name, {});
    if override == null then []
    else if std.objectHas(config.thresholds, std.get(rule, 'record', ''))
    then [rule { expr: 'vector(%.10g)' % config.thresholds[rule.record] }]
    else [std.mergePatch((if name == null then rule else linked(rule)) { expr: rewritten(rule.expr) }, override)],
  // The places of a dashboard that name the label; the variable keeps its name.
  local places = ['%s=~', '%s, namespace', ', %s)', '{{%s}}', '"%s":', '"namespace", "%s"'],
  local dashboard(text) = std.parseJson(std.foldl(
    function(changed, place) std.strReplace(changed, place % 'cluster', place % config.clusterLabel),
    places,
    // Much faster than std.manifestJson….
    std.toString(std.parseJson(text))
  )),
  local changedGroups(file) = [group { rules: std.flatMap(changed, group.rules) } for group in file.groups],

  prometheusAlerts+:: { groups+: changedGroups(files.alerts) },
  prometheusRules+:: { groups+: changedGroups(files.rules) },
  grafanaDashboards+:: {
    'translation-progress.json': dashboard(importstr 'dashboards/translation-progress.json'),
    'translation-repository.json': dashboard(importstr 'dashboards/translation-repository.json'),
    'translation-exporter.json': dashboard(importstr 'dashboards/translation-exporter.json'),
  },
}
