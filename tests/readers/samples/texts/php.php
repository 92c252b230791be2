<?php return array (
  'kingfisher' => 
  array (
    'level' => 1.42,
    'note' => 'über Nacht',
  ),
);